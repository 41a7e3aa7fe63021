package lease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/test/fixture"
)

// D11: whatever ended the lease, it is reported once and never renewed again, even if the row looks valid once more.
func aLostLeaseIsReportedOnceAndNeverRenewedAgain(t *testing.T, d *fixture.Database) {
	for name, end := range map[string]string{
		"expired":  `update workflow_coordination.executor set expires_at = clock_timestamp() where executor_id = $id`,
		"revoked":  `update workflow_coordination.executor set state = 'revoked' where executor_id = $id`,
		"released": `update workflow_coordination.executor set state = 'released' where executor_id = $id`,
		"restored": `delete from workflow_coordination.executor where executor_id = $id`,
	} {
		t.Run(name, func(t *testing.T) {
			h := acquire(t, d, d.WorkerURL)
			require.NoError(t, h.RunOnce(t.Context()))
			h.exec(t, end)
			require.ErrorIs(t, h.RunOnce(t.Context()), lease.ErrLost)
			_, err := h.Check(t.Context())
			require.Equal(t, fault.Fenced, fault.Of(err), "%v", err)
			if name != "restored" {
				h.exec(t, `update workflow_coordination.executor set state = 'active', expires_at = clock_timestamp() + interval '1 hour' where executor_id = $id`)
				before := h.row(t)
				require.ErrorIs(t, h.RunOnce(t.Context()), lease.ErrLost)
				require.Equal(t, before, h.row(t))
			}
			require.ErrorIs(t, h.RunOnce(t.Context()), lease.ErrLost)
			require.EqualValues(t, 1, h.lost.Load())
			require.Equal(t, 1, strings.Count(h.log.String(), `"reason":"lease_lost"`))
		})
	}
}

// H2: two ways to end a lease. One is for a worker that stopped in order, the other for every other case.
func releaseEndsTheLeaseAndAbandonLeavesItToExpire(t *testing.T, d *fixture.Database) {
	released, abandoned := acquire(t, d, d.WorkerURL), acquire(t, d, d.WorkerURL)
	for _, h := range []*holder{released, abandoned} {
		h.Start(context.Background())
		require.Eventually(t, func() bool { return h.renewed.Load() != nil }, patience, poll)
	}
	held, err := released.Release(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, "released", released.row(t).State)

	abandoned.Abandon(t.Context())
	require.Equal(t, "active", abandoned.row(t).State)
	for _, h := range []*holder{released, abandoned} {
		h.control.Reset()
		require.Eventually(t, func() bool { return h.sessions(t) == 0 }, patience, poll, "the renewals' own session is over")
	}
	held, err = released.Release(t.Context())
	require.NoError(t, err)
	require.False(t, held)
}

func (h *holder) sessions(t *testing.T) (count int) {
	t.Helper()
	require.NoError(t, h.owner.QueryRow(t.Context(),
		`select count(*) from pg_stat_activity where application_name = 'kesita:' || $1::text`, h.id).Scan(&count))
	return count
}

// H2: an expired lease is not turned into a released one: its claims count as lost.
func anExpiredLeaseCannotBeReleased(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	d.Expire(t, h.id)
	held, err := h.Release(t.Context())
	require.NoError(t, err)
	require.False(t, held)
	require.Equal(t, "active", h.row(t).State)
}

// K10, C4: a tombstone refuses a late incarnation.
func aTombstoneRefusesItsExecutorIDForEver(t *testing.T, d *fixture.Database) {
	h, config := prepare(t, d, d.WorkerURL)
	for _, state := range []string{"active", "released", "revoked"} {
		if state == "active" {
			_, err := lease.Acquire(t.Context(), config)
			require.NoError(t, err)
		} else {
			h.exec(t, `update workflow_coordination.executor set state = '`+state+`' where executor_id = $id`)
		}
		_, err := lease.Acquire(t.Context(), config)
		require.ErrorContains(t, err, "23505", state)
	}
}

// C2, C3, O3: what the row says; and who is refused one.
func anExecutorIsRegisteredWithItsBuildInItsOwnDatabaseOnly(t *testing.T, d *fixture.Database) {
	h, config := prepare(t, d, d.WorkerURL)
	_, err := lease.Acquire(t.Context(), config)
	require.NoError(t, err)
	var application, version, build, revision string
	require.NoError(t, h.owner.QueryRow(t.Context(), `select application_name, application_version, build_version, build_revision
		from workflow_coordination.executor where executor_id = $1`, h.id).Scan(&application, &version, &build, &revision))
	require.Equal(t, []string{fixture.Application, fixture.Version, "1.2", "abc"}, []string{application, version, build, revision})

	_, config = prepare(t, d, d.WorkerURL)
	config.Owner.Application = "kesita-other"
	_, err = lease.Acquire(t.Context(), config)
	require.Equal(t, fault.OtherApplication, fault.Of(err), "%v", err)
	_, config = prepare(t, d, d.APIURL)
	_, err = lease.Acquire(t.Context(), config)
	require.Equal(t, fault.Permission, fault.Of(err), "%v", err)
}

// K5: the check is a question to the database, never an answer from memory.
func aCheckFailsWhenTheDatabaseIsAwayHoweverFreshTheLease(t *testing.T, d *fixture.Database) {
	p := newProxy(t, d.Server.Port())
	h := acquire(t, d, through(t, d, p))
	left, err := h.Check(t.Context())
	require.NoError(t, err)
	require.Greater(t, left, limits().Lease/2)
	require.LessOrEqual(t, left, limits().Lease)

	p.silence()
	began := time.Now()
	_, err = h.Check(t.Context())
	require.Equal(t, fault.Outage, fault.Of(err), "%v", err)
	require.Less(t, time.Since(began), limits().LeaseCheck+limits().Statement)
	p.speak()
	p.refuse(true)
	_, err = h.Check(t.Context())
	require.Error(t, err)
	require.True(t, h.Deadline().After(time.Now()), "the local deadline would have said yes")
	p.refuse(false)
	require.Eventually(t, func() bool {
		_, err := h.Check(context.Background())
		return err == nil
	}, patience, poll)
}

// K5: who was never registered, or asks for somebody else's lease, is fenced.
func aCheckOfAnUnknownExecutorIsFenced(t *testing.T, d *fixture.Database) {
	h, config := prepare(t, d, d.WorkerURL)
	_, err := lease.Acquire(t.Context(), config)
	require.NoError(t, err)
	_, err = h.control.Exec(t.Context(), `select workflow_coordination.check_lease($1)`, uuid.New())
	require.Equal(t, fault.Fenced, fault.Of(err), "%v", err)
}

// F1, C3, K2, C6: what is wrong with a session is said before anything starts.
func TestVerifySaysWhatIsWrongWithASession(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	id := uuid.New()
	require.NoError(t, lease.Verify(t.Context(), d.As(t, id), id, fixture.Application))
	require.ErrorIs(t, lease.Verify(t.Context(), d.As(t, uuid.New()), id, fixture.Application), lease.ErrIdentityLost)
	require.ErrorIs(t, lease.Verify(t.Context(), d.Connect(t, d.WorkerURL), id, fixture.Application), lease.ErrIdentityLost)
	require.ErrorIs(t, lease.Verify(t.Context(), d.As(t, id), id, "kesita-other"), schema.ErrOtherApplication)
	require.ErrorIs(t, lease.Verify(t.Context(), d.Connect(t, d.APIURL), id, fixture.Application), lease.ErrNotWorker)
	d.Exec(t, d.OwnerURL, `update workflow_coordination.application set schema_version = schema_version - 1`)
	require.ErrorIs(t, lease.Verify(t.Context(), d.As(t, id), id, fixture.Application), lease.ErrSchemaOld)
	empty := fixture.Unmigrated(t)
	err := lease.Verify(t.Context(), empty.As(t, id), id, fixture.Application)
	require.Equal(t, fault.SchemaMissing, fault.Of(err), "%v", err)
}

// F6: a table through which a stale worker could write is named.
func TestVerifyGuardsNamesTheTableThatIsOpen(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	id := uuid.New()
	require.NoError(t, lease.VerifyGuards(t.Context(), d.As(t, id)))
	d.Exec(t, d.OwnerURL, `create table shop.open (id int)`)
	d.Exec(t, d.OwnerURL, `grant insert on shop.open to `+pgx.Identifier{d.Worker.Name}.Sanitize())
	err := lease.VerifyGuards(t.Context(), d.As(t, id))
	require.Equal(t, fault.GuardsIncomplete, fault.Of(err))
	require.ErrorContains(t, err, "shop.open")
}
