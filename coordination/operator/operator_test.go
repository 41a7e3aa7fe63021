package operator_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/coordination/operator"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

const (
	long     = 600_000 // milliseconds of a lease; longer than any test
	short    = 1_500   // one whose transactions may last 0.4 s
	patience = 30 * time.Second
	insert   = `insert into shop.orders (id) values (gen_random_uuid()::text)`
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

type place struct {
	*fixture.Database
	owner *pgxpool.Pool
}

func newPlace(t *testing.T) place {
	t.Helper()
	db := fixture.Copy(t)
	pool, err := pgxpool.New(context.Background(), db.OwnerURL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return place{db, pool}
}

func (p place) pending(t *testing.T, id string, owner uuid.UUID) {
	t.Helper()
	journaltest.Insert(t, p.owner, journaltest.Pending(id, owner, fixture.Application, fixture.Version))
}

func (p place) status(t *testing.T, id string) any { return journaltest.Read(t, p.owner, id)["status"] }

func (p place) state(t *testing.T, executor uuid.UUID) (state string) {
	t.Helper()
	require.NoError(t, p.owner.QueryRow(t.Context(), `select state from workflow_coordination.executor where executor_id = $1`, executor).Scan(&state))
	return state
}

func refusal(err error) string {
	if pg, is := errors.AsType[*pgconn.PgError](err); is {
		return pg.Code
	}
	return ""
}

// B47: nobody has to wait for a scan, or to be alive to make one.
func TestADeadExecutorIsRevokedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lost := p.Executor(t, long)
	p.pending(t, "a", lost)
	p.Expire(t, lost)
	r, err := operator.Revoke(t.Context(), p.owner, lost, false)
	require.NoError(t, err)
	require.Equal(t, "expired", r.Cause)
	require.Equal(t, 1, r.Reenqueued)
	require.Equal(t, "revoked", p.state(t, lost))
	require.Equal(t, "ENQUEUED", p.status(t, "a"))

	again, err := operator.Revoke(t.Context(), p.owner, lost, false)
	require.NoError(t, err)
	require.Equal(t, "revoked", again.Cause)
	require.Zero(t, again.Reenqueued)
}

func TestALiveExecutorIsLeftAloneWithoutForce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	live := p.Executor(t, long)
	p.pending(t, "a", live)
	r, err := operator.Revoke(t.Context(), p.owner, live, false)
	require.ErrorIs(t, err, operator.ErrLive)
	require.Equal(t, int64(1), r.Before.Pending)
	require.Equal(t, "active", p.state(t, live))
	require.Equal(t, "PENDING", p.status(t, "a"))
	_, err = p.As(t, live).Exec(t.Context(), insert)
	require.NoError(t, err)
}

// X4: an executor that writes without a pause cannot hold its revocation off, and none of its writes is let through
// afterwards.
func TestABusyExecutorCannotHoldItsRevocationOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	live := p.Executor(t, long)
	p.pending(t, "a", live)
	refused := make(chan string)
	for range 4 {
		session := p.As(t, live)
		go func() {
			for {
				if _, err := session.Exec(context.Background(), insert); err != nil {
					refused <- refusal(err)
					return
				}
			}
		}()
	}
	r, err := operator.Revoke(t.Context(), p.owner, live, true)
	require.NoError(t, err)
	require.Equal(t, 1, r.Reenqueued)
	require.Zero(t, r.SessionsEnded)
	for range 4 {
		require.Contains(t, []string{"KF001", "KF002"}, <-refused)
	}
}

// K4: a transaction that was admitted and never ends is ended with its session.
func TestAFrozenTransactionIsEndedWhenItLastsTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	frozen := p.Executor(t, short)
	p.pending(t, "a", frozen)
	tx, err := p.As(t, frozen).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), insert)
	require.NoError(t, err)
	r, err := operator.Revoke(t.Context(), p.owner, frozen, true)
	require.NoError(t, err)
	require.Positive(t, r.SessionsEnded)
	require.Equal(t, 1, r.Reenqueued)
	require.Error(t, tx.Commit(t.Context()))
	var written int
	require.NoError(t, p.owner.QueryRow(t.Context(), `select count(*) from shop.orders`).Scan(&written))
	require.Zero(t, written)
}

// A lock that is not the executor's own - a backup, another operator - is named, and the expiry stays: any scan goes on.
func TestALockOfSomebodyElseIsReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	live := p.Executor(t, short)
	tx, err := p.Connect(t, p.OwnerURL).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from workflow_coordination.executor for key share`)
	require.NoError(t, err)
	_, err = operator.Revoke(t.Context(), p.owner, live, true)
	require.ErrorIs(t, err, operator.ErrBusy)
	_, err = p.As(t, live).Exec(t.Context(), insert)
	require.Equal(t, "KF001", refusal(err))
}

// O4: work of an executor that the registry does not know is not guessed at; a person may say that it is over.
func TestAnUnregisteredExecutorIsBuriedOnlyByForce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ghost := uuid.New()
	_, err := operator.Revoke(t.Context(), p.owner, ghost, true)
	require.ErrorIs(t, err, operator.ErrUnknown)

	p.pending(t, "a", ghost)
	_, err = operator.Revoke(t.Context(), p.owner, ghost, false)
	require.ErrorIs(t, err, operator.ErrUnregistered)
	require.Equal(t, "PENDING", p.status(t, "a"))

	r, err := operator.Revoke(t.Context(), p.owner, ghost, true)
	require.NoError(t, err)
	require.True(t, r.Buried)
	require.Equal(t, 1, r.Reenqueued)
	require.Equal(t, "revoked", p.state(t, ghost))
	require.Equal(t, "ENQUEUED", p.status(t, "a"))

	mixed := uuid.New()
	p.pending(t, "b", mixed)
	journaltest.Insert(t, p.owner, journaltest.Pending("c", mixed, fixture.Application, "kesita-shop-v2"))
	_, err = operator.Revoke(t.Context(), p.owner, mixed, true)
	require.ErrorIs(t, err, journal.ErrMixedWork)
}

// X4: the process of an executor that was revoked by force ends by itself.
func TestTheProcessOfARevokedExecutorEndsByItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: p.WorkerURL, Timing: fixture.Timing(), Environ: []string{},
		Exit: func(int) {},
	})
	require.NoError(t, err)
	require.NoError(t, rt.AddQueue(coordination.Queue{Name: "orders", Concurrency: 2}))
	require.NoError(t, rt.Launch(t.Context()))
	_, err = operator.Revoke(t.Context(), p.owner, rt.ExecutorID(), true)
	require.NoError(t, err)
	select {
	case <-rt.Verdict():
	case <-time.After(patience):
		require.Fail(t, "the watchdog gave no verdict")
	}
	require.ErrorIs(t, rt.Shutdown(t.Context()), coordination.ErrNotClean)
}

// K1: what an operator may do nobody else may, and it is said whose login it takes.
func TestOnlyTheOwnerIsAnOperator(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	live := p.Executor(t, long)
	require.NoError(t, journal.CheckOwner(t.Context(), p.owner))
	for name, url := range map[string]string{"worker": p.WorkerURL, "api": p.APIURL, "reader": p.ReaderURL} {
		conn := p.Connect(t, url)
		err := journal.CheckOwner(t.Context(), conn)
		require.ErrorIs(t, err, journal.ErrNotOwner, name)
		require.ErrorContains(t, err, p.Owner.Name)
		_, err = journal.NewOperator(conn).Expire(t.Context(), live, true)
		require.Equal(t, "42501", refusal(err), name)
		_, err = journal.NewOperator(conn).Bury(t.Context(), live)
		require.Equal(t, "42501", refusal(err), name)
	}
}
