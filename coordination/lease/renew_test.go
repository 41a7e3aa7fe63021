package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/test/fixture"
)

// D2, D11: a renewal extends the lease by the database's clock.
func aRenewalExtendsTheLease(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	before := h.row(t)
	require.NoError(t, h.RunOnce(t.Context()))
	after := h.row(t)
	require.Equal(t, "active", after.State)
	require.True(t, after.Expires.After(before.Expires))
	require.Equal(t, limits().Lease, after.Expires.Sub(after.Heartbeat))
	require.Zero(t, h.lost.Load())
}

// D10: the answer is held back on the wire after the database renewed. Trust counts from the sending.
func aSlowAnswerDoesNotExtendTheDeadline(t *testing.T, d *fixture.Database) {
	p := newProxy(t, d.Server.Port())
	h := acquire(t, d, through(t, d, p))
	require.NoError(t, h.RunOnce(t.Context()))
	before := h.row(t).Heartbeat
	p.holdAnswers()
	done := make(chan error, 1)
	go func() { done <- h.RunOnce(context.Background()) }()
	require.Eventually(t, func() bool { return h.row(t).Heartbeat.After(before) }, patience, poll)
	renewed := time.Now()
	p.speak()
	require.NoError(t, <-done)
	require.False(t, h.Deadline().Add(-limits().Lease).After(renewed))
	require.Equal(t, h.Deadline().Add(-limits().Lease), *h.renewed.Load(), "the watchdog is told the same time")
}

// D10: as above, but the database itself is slow: a lock on the row is waited for.
func aLockOnTheRowDoesNotExtendTheDeadline(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	require.NoError(t, h.RunOnce(t.Context()))
	tx, err := d.Connect(t, d.OwnerURL).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from workflow_coordination.executor where executor_id = $1 for update`, h.id)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- h.RunOnce(context.Background()) }()
	h.awaitBlocked(t)
	waiting := time.Now()
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
	require.False(t, h.Deadline().Add(-limits().Lease).After(waiting))
}

func (h *holder) awaitBlocked(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var blocked bool
		err := h.owner.QueryRow(context.Background(), `select exists (select from pg_stat_activity
			where application_name = 'kesita:' || $1::text and cardinality(pg_blocking_pids(pid)) > 0)`, h.id).Scan(&blocked)
		return err == nil && blocked
	}, patience, poll)
}

// D11: the renewal was sent in time and waited for a lock until the lease had ended. It must not bring it back.
func aRenewalThatWaitedPastTheExpiryDoesNotResurrect(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	require.NoError(t, h.RunOnce(t.Context()))
	tx, err := d.Connect(t, d.OwnerURL).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `update workflow_coordination.executor set expires_at = clock_timestamp() + interval '1 ms' where executor_id = $1`, h.id)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- h.RunOnce(context.Background()) }()
	h.awaitBlocked(t)
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorIs(t, <-done, lease.ErrLost)
	require.EqualValues(t, 1, h.lost.Load())
}

// The renewal has a connection of its own: every other one of this worker is in use.
func anExhaustedWorkerStillRenews(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	registry, err := pgx.ParseConfig(d.WorkerURL)
	require.NoError(t, err)
	business, err := guard.Open(t.Context(), registry, guard.Identity{ExecutorID: h.id, Timing: limits()}, d.WorkerURL, 4)
	require.NoError(t, err)
	t.Cleanup(business.Close)
	for i := range 4 {
		tx, err := business.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `insert into shop.orders (id) values ($1)`, string(rune('a'+i)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	}
	for range 2 {
		conn, err := h.control.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(conn.Release)
	}
	require.NoError(t, h.RunOnce(t.Context()))
	began := time.Now()
	_, err = h.Check(t.Context())
	require.Equal(t, fault.Outage, fault.Of(err), "K5: nobody can tell, which heals and is no step's outcome: %v", err)
	require.Less(t, time.Since(began), limits().LeaseCheck+patience)
}

// A session that ended, for whatever reason, costs one attempt.
func aTerminatedConnectionIsReplaced(t *testing.T, d *fixture.Database) {
	h := acquire(t, d, d.WorkerURL)
	require.NoError(t, h.RunOnce(t.Context()))
	d.Exec(t, d.AdminURL, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kesita:' || $1::text`, h.id)
	err := h.RunOnce(t.Context())
	require.Equal(t, fault.Outage, fault.Of(err), "%v", err)
	require.NoError(t, h.RunOnce(t.Context()))
	require.Zero(t, h.lost.Load())
}

// H5: a fail-over can leave a session on a node that only reads. Keeping it would fail for ever.
func TestASessionOnAReadOnlyNodeIsReplaced(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	h := acquire(t, d, d.WorkerURL)
	worker := pgx.Identifier{d.Worker.Name}.Sanitize()
	d.Exec(t, d.AdminURL, `alter role `+worker+` set default_transaction_read_only = on`)
	err := h.RunOnce(t.Context())
	require.Equal(t, fault.Outage, fault.Of(err), "%v", err)
	require.ErrorContains(t, err, "25006")
	d.Exec(t, d.AdminURL, `alter role `+worker+` reset default_transaction_read_only`)
	require.NoError(t, h.RunOnce(t.Context()))
	require.Zero(t, h.lost.Load())
}

// H5: packets vanish and nothing is reset. Each attempt has its own limit, on the open connection and on a new one,
// and nobody who asks for the deadline waits with it.
func aSilentNetworkIsBoundedByTheAttempt(t *testing.T, d *fixture.Database) {
	p := newProxy(t, d.Server.Port())
	h := acquire(t, d, through(t, d, p))
	require.NoError(t, h.RunOnce(t.Context()))
	deadline := h.Deadline()
	p.silence()
	for _, what := range []string{"open connection", "new connection"} {
		began, done := time.Now(), make(chan error, 1)
		go func() { done <- h.RunOnce(context.Background()) }()
		for waiting := true; waiting; {
			select {
			case err := <-done:
				require.True(t, fault.Heals(err), "%s: %v", what, err)
				waiting = false
			default:
				asked := time.Now()
				require.Equal(t, deadline, h.Deadline())
				require.Less(t, time.Since(asked), limits().RenewAttempt/2, what)
			}
		}
		require.GreaterOrEqual(t, time.Since(began), limits().RenewAttempt, what)
		require.Less(t, time.Since(began), limits().RenewAttempt+limits().Statement, what)
	}
	p.speak()
	require.NoError(t, h.RunOnce(t.Context()))
	require.True(t, h.Deadline().After(deadline))
	require.Contains(t, h.log.String(), `"reason":"renewal_failed"`)
}

// D1: the loop keeps a lease alive through an outage shorter than the lease.
func theLoopKeepsTheLeaseThroughAShortOutage(t *testing.T, d *fixture.Database) {
	p := newProxy(t, d.Server.Port())
	h := acquire(t, d, through(t, d, p))
	h.Start(context.Background())
	first := h.row(t).Heartbeat
	require.Eventually(t, func() bool { return h.row(t).Heartbeat.After(first) }, patience, poll)
	p.refuse(true)
	require.Eventually(t, func() bool { return time.Until(h.Deadline()) < limits().Lease-2*limits().Renew }, patience, poll)
	p.refuse(false)
	before := h.Deadline()
	require.Eventually(t, func() bool { return h.Deadline().After(before) }, patience, poll)
	require.Less(t, time.Since(before.Add(-limits().Lease)), 4*limits().Renew, "failures are retried sooner than a period")
	require.Zero(t, h.lost.Load())
	require.Equal(t, "active", h.row(t).State)
}
