package recovery_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/recovery"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
)

// scannerOf returns a scanner of a live executor with the given limits.
func scannerOf(t *testing.T, d *fixture.Database, limits timing.Timing) (scanner *recovery.Scanner, lines *bytes.Buffer) {
	t.Helper()
	id := d.Executor(t, time.Hour.Milliseconds())
	config, err := guard.Identity{ExecutorID: id, Timing: timing.Production()}.PoolConfig(d.WorkerURL, 4)
	require.NoError(t, err)
	control, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(control.Close)
	lines = &bytes.Buffer{}
	scanner = recovery.New(recovery.Config{
		Journal: journal.Open(control, id), Timing: limits, Log: signal.New(signal.JSON(lines, slog.LevelDebug)),
		EndSessions: func(ctx context.Context, executor uuid.UUID) (int, error) {
			return lease.EndSessions(ctx, control, executor)
		},
		Scanned: func(time.Time) {},
	})
	return scanner, lines
}

// K4: a write was admitted, then its process froze and its lease ended. Nothing bounds that session (its limits are
// off here), so it would hold the takeover off for ever.
func TestAFrozenTransactionOfAnExpiredExecutorIsEndedAndItsWorkTakenOver(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	limits := timing.Production().Scale(0.02)
	scanner, lines := scannerOf(t, d, limits)
	owner := d.Connect(t, d.OwnerURL)
	lost, other := d.Executor(t, time.Hour.Milliseconds()), d.Executor(t, time.Hour.Milliseconds())
	journaltest.Insert(t, owner,
		journaltest.Pending("held", lost, fixture.Application, fixture.Version),
		journaltest.Pending("free", other, fixture.Application, fixture.Version))
	frozen := d.As(t, lost)
	_, err := frozen.Exec(t.Context(), `set idle_in_transaction_session_timeout = 0`)
	require.NoError(t, err)
	tx, err := frozen.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into shop.orders (id) values ('late')`)
	require.NoError(t, err)
	d.Expire(t, lost)
	d.Expire(t, other)

	began := time.Now()
	result, err := scanner.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, recovery.Result{Executors: 1, Reenqueued: 1, Blocked: 1}, result, "others are not delayed")
	require.Equal(t, "PENDING", journaltest.Read(t, owner, "held")["status"])
	require.Eventually(t, func() bool {
		result, err = scanner.RunOnce(t.Context())
		require.NoError(t, err)
		return result.SessionsEnded > 0
	}, time.Minute, time.Millisecond)
	require.Greater(t, time.Since(began), limits.Transaction, "not before any guarded transaction must be over")
	require.Contains(t, lines.String(), `"reason":"peer_blocked"`)
	require.Contains(t, lines.String(), lost.String())
	require.Eventually(t, func() bool {
		_, err := scanner.RunOnce(t.Context())
		require.NoError(t, err)
		return journaltest.Read(t, owner, "held")["status"] == "ENQUEUED"
	}, time.Minute, time.Millisecond)

	require.Equal(t, fault.Outage, fault.Of(tx.Commit(t.Context())))
	var late int
	require.NoError(t, owner.QueryRow(t.Context(), `select count(*) from shop.orders`).Scan(&late))
	require.Zero(t, late)
}

// K4: only sessions of an executor that is over may be ended.
func TestTheSessionsOfALiveExecutorAreNeverEnded(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	live, lost := d.Executor(t, time.Hour.Milliseconds()), d.Executor(t, time.Hour.Milliseconds())
	config, err := guard.Identity{ExecutorID: live, Timing: timing.Production()}.PoolConfig(d.WorkerURL, 2)
	require.NoError(t, err)
	control, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(control.Close)
	sessions := func(executor uuid.UUID) int {
		ended, err := lease.EndSessions(t.Context(), control, executor)
		require.NoError(t, err)
		return ended
	}
	first, second := d.As(t, lost), d.As(t, lost)
	require.Zero(t, sessions(lost))
	require.Zero(t, sessions(live))
	require.Zero(t, sessions(uuid.New()))
	d.Expire(t, lost)
	require.GreaterOrEqual(t, sessions(lost), 2)
	require.Error(t, first.Ping(t.Context()))
	require.Error(t, second.Ping(t.Context()))
	require.NoError(t, control.Ping(t.Context()))
}
