package workflow_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const queue = "orders"

// bench is a host on the real SDK and a real database, with the lease and the watchdog replaced: a test decides what
// the lease check says and sees every trip. Its login is the owner's, which no guard refuses.
type bench struct {
	host     *workflow.Host
	sdk      dbos.Context
	pool     *pgxpool.Pool
	executor string
	observer *harness.Observer
	close    func()

	// guards everything below
	mu     sync.Mutex
	lease  func(ctx context.Context) (time.Duration, error)
	checks int
	trips  map[string][]signal.Reason // by workflow
}

// fast is production with short pauses: the limits are far away, so that a busy machine injects no faults of its own.
// Validate would refuse some of a test's own budgets.
func fast() timing.Timing {
	t := timing.Production()
	t.QueuePoll, t.StepRetryFirst, t.StepRetryCap, t.LeaseCheckRetry = 20*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	return t
}

// set prepares a bench that runs nothing yet: register, then launch.
func set(t *testing.T, d *fixture.Database, with timing.Timing) *bench {
	t.Helper()
	b := &bench{executor: uuid.NewString(), observer: harness.Watch(t, d), trips: map[string][]signal.Reason{}}
	b.lease = func(context.Context) (time.Duration, error) { return time.Minute, nil }
	b.host = workflow.NewHost(workflow.Config{
		Version: fixture.Version, Timing: with, Log: signal.New(nil), CheckLease: b.check, Trip: b.trip,
	})
	identity := guard.Identity{ExecutorID: uuid.MustParse(b.executor), Timing: with}
	pool := func() *pgxpool.Pool {
		config, err := identity.PoolConfig(d.OwnerURL, 40)
		require.NoError(t, err)
		p, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		return p
	}
	b.pool = pool()
	var err error
	b.sdk, err = dbos.NewContext(b.host.Bind(context.Background()), dbos.Config{
		AppName: fixture.Application, ApplicationVersion: fixture.Version, ExecutorID: b.executor,
		SystemDBPool: pool(), SkipMigrations: true, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	b.host.Attach(b.sdk)
	b.close = sync.OnceFunc(func() {
		require.NoError(t, dbos.Shutdown(b.sdk, time.Minute))
		b.pool.Close()
	})
	t.Cleanup(b.close)
	return b
}

// Host implements workflow.Registrar.
func (b *bench) Host() *workflow.Host { return b.host }

func (b *bench) launch(t *testing.T) {
	t.Helper()
	_, err := dbos.RegisterQueue(b.sdk, queue, dbos.WithQueueBasePollingInterval(20*time.Millisecond))
	require.NoError(t, err)
	dbos.ListenQueues(b.sdk, queue)
	require.NoError(t, dbos.Launch(b.sdk))
}

// enqueue starts a workflow whose input is its ID.
func (b *bench) enqueue(t *testing.T, name string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := dbos.Enqueue[any](b.sdk, queue, name, id, workflow.Options(fixture.Version, name, id)...)
		require.NoError(t, err)
	}
}

// recover moves what a closed bench left pending, as the recovery scan does.
func (b *bench) recover(t *testing.T) {
	t.Helper()
	b.observer.Exec(t, `update dbos.workflow_status set status = 'ENQUEUED', started_at_epoch_ms = null where status = 'PENDING' and executor_id = $1`, b.executor)
}

func (b *bench) check(ctx context.Context) (time.Duration, error) {
	b.mu.Lock()
	b.checks++
	lease := b.lease
	b.mu.Unlock()
	return lease(ctx)
}

func (b *bench) answer(lease func(ctx context.Context) (time.Duration, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lease = lease
}

func (b *bench) checked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.checks
}

func (b *bench) trip(reason signal.Reason, attrs ...slog.Attr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, attr := range attrs {
		if attr.Key == "workflow_id" {
			b.trips[attr.Value.String()] = append(b.trips[attr.Value.String()], reason)
		}
	}
}

// tripped are the reasons for which a workflow asked for the process's end.
func (b *bench) tripped(id string) []signal.Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trips[id]
}

func (b *bench) awaitTrip(t *testing.T, want signal.Reason, id string) {
	t.Helper()
	harness.Await(t, id+" trips "+string(want), func() bool { return len(b.tripped(id)) > 0 })
	require.Equal(t, []signal.Reason{want}, b.tripped(id), id)
}

// effect counts its runs in run/ID and notes effect/ID once.
func (b *bench) effect(id string) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if err := b.count(ctx, id); err != nil {
			return "", err
		}
		_, err := b.pool.Exec(ctx, `insert into shop.orders (id, writer) values ($1, $2) on conflict do nothing`, "effect/"+id, b.executor)
		return "done", err
	}
}

func (b *bench) count(ctx context.Context, id string) error {
	_, err := b.pool.Exec(ctx, `insert into shop.orders (id, amount) values ($1, 1)
		on conflict (id) do update set amount = shop.orders.amount + 1`, "run/"+id)
	return err
}

// runs is how often the effect of a workflow ran.
func (b *bench) runs(t *testing.T, id string) string {
	t.Helper()
	return b.observer.Text(t, `select amount from shop.orders where id = $1`, "run/"+id)
}

// untouched proves that nothing of a workflow's last write is durable: no outcome, no error, and so many checkpoints.
func (b *bench) untouched(t *testing.T, id, checkpoints string) {
	t.Helper()
	require.Equal(t, "PENDING", b.observer.Status(t, id), id)
	require.Equal(t, checkpoints, b.observer.Steps(t, id), id)
	require.Equal(t, "0", b.observer.Text(t, `select count(*) from dbos.workflow_output where workflow_uuid = $1`, id), id)
	require.Equal(t, "0", b.observer.Text(t, `select count(*) from dbos.operation_outputs where workflow_uuid = $1 and error is not null`, id), id)
}
