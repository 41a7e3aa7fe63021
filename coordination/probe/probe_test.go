package probe_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/probe"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// bench is a prober on the real SDK. Its loop does not run: tests call RunOnce.
type bench struct {
	*probe.Prober
	queue    string
	observer *harness.Observer
	probed   chan time.Time
	timing   timing.Timing
}

func set(t *testing.T, d *fixture.Database, every time.Duration) *bench {
	t.Helper()
	id := uuid.New()
	b := &bench{queue: "kesita-probe-" + id.String(), observer: harness.Watch(t, d), probed: make(chan time.Time, 10), timing: timing.Production()}
	b.timing.Probe, b.timing.QueuePoll = every, 20*time.Millisecond
	config, err := guard.Identity{ExecutorID: id, Timing: b.timing}.PoolConfig(d.OwnerURL, 10)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	sdk, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: fixture.Application, ApplicationVersion: fixture.Version, ExecutorID: id.String(), SystemDBPool: pool,
		SkipMigrations: true, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	b.Prober = probe.New(probe.Config{
		SDK: sdk, Queue: b.queue, Version: fixture.Version, Timing: b.timing, Log: signal.New(nil),
		Probed: func(began time.Time) { b.probed <- began },
	})
	require.NoError(t, b.Register())
	dbos.ListenQueues(sdk, b.queue)
	require.NoError(t, dbos.Launch(sdk))
	t.Cleanup(func() {
		b.Stop()
		require.NoError(t, dbos.Shutdown(sdk, time.Minute))
	})
	return b
}

// records counts the probe's rows in all four tables.
func (b *bench) records(t *testing.T) string {
	t.Helper()
	return b.observer.Text(t, `select (select count(*) from dbos.workflow_status) || '/' || (select count(*) from dbos.workflow_input)
		|| '/' || (select count(*) from dbos.workflow_output) || '/' || (select count(*) from dbos.operation_outputs)`)
}

// stall keeps the private queue from claiming.
func (b *bench) stall(t *testing.T, d *fixture.Database) *harness.Injected {
	t.Helper()
	return harness.Inject(t, d, harness.Fault{
		Table: "dbos.workflow_status", On: "update", Code: "55000", When: "new.status = 'PENDING' and new.workflow_uuid = '" + b.queue + "'",
	})
}

// D13: a probe that came back leaves no record, and counts from the time at which it was sent.
func TestAProbeThatCameBackLeavesNoRecord(t *testing.T) {
	t.Parallel()
	b := set(t, fixture.Copy(t), time.Minute)
	for range 3 {
		sent := time.Now()
		require.NoError(t, b.RunOnce(t.Context()))
		require.Equal(t, "0/0/0/0", b.records(t))
		began := <-b.probed
		require.WithinRange(t, began, sent, time.Now())
	}
}

// D4: one outstanding: a probe that was given up on is joined by the next, never doubled; when the queue claims again it
// runs once and is cleared away.
func TestAProbeThatWasGivenUpOnIsJoined(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, 300*time.Millisecond)
	stalled := b.stall(t, d)
	for range 3 {
		require.Error(t, b.RunOnce(t.Context()))
		require.Equal(t, "1/1/0/0", b.records(t))
	}
	require.Empty(t, b.probed, "nothing came back")
	stalled.Heal(t)
	harness.Await(t, "the queue claims again", func() bool { return b.RunOnce(t.Context()) == nil })
	require.Equal(t, "0/0/0/0", b.records(t))
	require.Len(t, b.probed, 1)
}

// A probe whose deletion failed is cleared away by the next one.
func TestAProbeWhoseDeletionFailedIsClearedAwayByTheNext(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, time.Minute)
	b.observer.Exec(t, `create function public.keep() returns trigger language plpgsql as $$ begin raise exception 'kept' using errcode = '55000'; end $$`)
	b.observer.Exec(t, `create trigger zz_keep before delete on dbos.workflow_status for each statement execute function public.keep()`)
	require.ErrorContains(t, b.RunOnce(t.Context()), "delete probe")
	require.Empty(t, b.probed, "D13: a probe with records left does not count")
	b.observer.Exec(t, `drop trigger zz_keep on dbos.workflow_status`)
	require.NoError(t, b.RunOnce(t.Context()))
	require.Equal(t, "0/0/0/0", b.records(t))
}

// H2: a stop does not wait for a probe that does not come back.
func TestAStopDoesNotWaitForAnOutstandingProbe(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, time.Minute)
	b.stall(t, d)
	b.Start(t.Context())
	b.observer.Await(t, "ENQUEUED", `select status from dbos.workflow_status where workflow_uuid = $1`, b.queue)
	began := time.Now()
	b.Stop()
	require.Less(t, time.Since(began), b.timing.Probe/4)
}
