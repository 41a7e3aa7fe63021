package harness_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// V1, T1, T2: a worker that is killed in the middle of a step is replaced by its peer, which replays what was
// checkpointed, runs the unfinished step again, and leaves one effect.
func TestAPeerCompletesTheWorkOfAKilledWorker(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	first := harness.Start(t, harness.Environment(d))
	lost := first.AwaitReady(t)
	harness.Submit(t, d, "orders", "shop.order", "a")
	o.AwaitOrder(t, "run/a/ship")
	second := harness.Start(t, harness.Environment(d))
	heir := second.AwaitReady(t)

	first.Kill(t)
	require.Equal(t, -1, first.ExitCode(t))
	o.Await(t, heir+"/2", `select coalesce(writer, '') || '/' || amount from shop.orders where id = 'run/a/ship'`)
	o.Open(t, "a")
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, "revoked", o.Lease(t, lost))
	require.Equal(t, lost+"/1", o.Order(t, "run/a/reserve"), "the checkpointed step was replayed, not run again")
	require.Equal(t, heir+"/0", o.Order(t, "shipped/a"))
	require.Equal(t, "2", o.Text(t, `select recovery_attempts from dbos.workflow_status where workflow_uuid = 'a'`))
	second.MustStopCleanly(t)
	require.Equal(t, "released", o.Lease(t, heir))
}

// V1, F2, D6, D7, D11: a worker that was frozen for longer than its lease writes nothing when it thaws, in neither
// journal nor business tables, and ends by itself with the status that asks for a fresh process.
func TestAWorkerThatWasFrozenPastItsLeaseWritesNothingAndEnds(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	first := harness.Start(t, harness.Environment(d))
	lost := first.AwaitReady(t)
	harness.Submit(t, d, "orders", "shop.order", "a")
	o.AwaitOrder(t, "run/a/ship")
	first.Pause(t)
	second := harness.Start(t, harness.Environment(d))
	heir := second.AwaitReady(t)
	o.Await(t, heir, `select executor_id from dbos.workflow_status where workflow_uuid = 'a'`)

	// Every write from here on says who made it: the frozen worker's step finds its gate open when it thaws.
	o.Exec(t, `create table public.written (login name, executor text)`)
	o.Exec(t, `create function public.note() returns trigger language plpgsql security definer as $$
begin insert into public.written values (session_user, current_setting('kesita.executor_id', true)); return null; end $$`)
	for _, table := range []string{"shop.orders", "dbos.workflow_status", "dbos.operation_outputs", "dbos.workflow_output"} {
		o.Exec(t, `create trigger zz_note after insert or update or delete on `+table+` for each row execute function public.note()`)
	}
	o.Open(t, "a")
	first.Resume(t)
	thawed := time.Now()
	require.Equal(t, boot.ExitRestart, first.ExitCode(t))
	timing := fixture.Timing()
	require.Less(t, time.Since(thawed), timing.Watchdog+timing.ForcedExit)
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, "0", o.Text(t, `select count(*) from public.written where executor = $1`, lost))
	require.NotEqual(t, "0", o.Text(t, `select count(*) from public.written where executor = $1`, heir), "the trigger sees writes")
	require.Equal(t, "revoked", o.Lease(t, lost))
	require.Equal(t, heir+"/0", o.Order(t, "shipped/a"))
	second.MustStopCleanly(t)
}

// D8, D9: a step that ignores its cancellation ends its process by force, nothing of it is checkpointed, and the peer
// starts it again.
func TestAStepThatIgnoresItsBudgetEndsItsProcess(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	first := harness.Start(t, harness.Environment(d))
	lost := first.AwaitReady(t)
	harness.Submit(t, d, "orders", "shop.stubborn", "a")
	o.AwaitOrder(t, "run/a/stubborn")
	require.Equal(t, boot.ExitRestart, first.ExitCode(t))
	line, logged := first.Find("executor_watchdog", "step_over_budget")
	require.True(t, logged)
	require.Equal(t, lost, line.ExecutorID)
	require.Equal(t, "a", line.WorkflowID)
	require.Equal(t, "PENDING", o.Status(t, "a"))
	require.Equal(t, "0", o.Steps(t, "a"))
	require.Equal(t, "active", o.Lease(t, lost))

	o.Open(t, "a")
	second := harness.Start(t, harness.Environment(d))
	heir := second.AwaitReady(t)
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, heir+"/2", o.Order(t, "run/a/stubborn"))
	second.MustStopCleanly(t)
}

// T3, K7, D8: children and durable waits outlive the worker that started them. The peer enqueues no child twice.
func TestChildrenAndDurableWaitsOutliveTheirWorker(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	first := harness.Start(t, harness.Environment(d))
	first.AwaitReady(t)
	harness.Submit(t, d, "orders", "shop.parent", "p")
	harness.Submit(t, d, "orders", "shop.sleep", "s")
	o.AwaitOrder(t, "run/p/child/ship")
	o.AwaitStatus(t, "SUCCESS", "p")
	o.Await(t, "1", `select count(*) from dbos.operation_outputs where workflow_uuid = 's' and function_name = 'DBOS.sleep'`)
	first.Kill(t)

	second := harness.Start(t, harness.Environment(d))
	heir := second.AwaitReady(t)
	o.Open(t, "p/child")
	o.AwaitStatus(t, "SUCCESS", "p/child")
	o.AwaitStatus(t, "SUCCESS", "s")
	require.Equal(t, heir+"/0", o.Order(t, "shipped/p/child"))
	require.Equal(t, "1", o.Text(t, `select count(*) from dbos.workflow_status where workflow_uuid = 'p/child' and queue_name = 'children'`))
	require.NotEmpty(t, o.Order(t, "woke/s"))
	second.MustStopCleanly(t)
}
