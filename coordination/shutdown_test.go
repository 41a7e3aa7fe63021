package coordination_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// H2: a step that does not stop makes the stop unclean, within the one budget. Nothing is renewed meanwhile, nothing is
// released, and what the step does later is not written.
func TestAStopThatIsNotCleanLeavesTheLeaseToExpire(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	opened := make(chan struct{})
	r := launch(t, config(d), gated(opened, true))
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitOrder(t, "running/a")
	budget := pace().Shutdown

	stopped := make(chan error, 1)
	began := time.Now()
	go func() { stopped <- r.stop(context.Background()) }()
	harness.Await(t, "the stop is under way", func() bool { return r.log.count(signal.Shutdown, signal.Requested) == 1 })
	beats := `select heartbeat_at::text from workflow_coordination.executor where executor_id = $1`
	last := o.Text(t, beats, r.ExecutorID())
	err := <-stopped
	require.ErrorIs(t, err, coordination.ErrNotClean)
	require.Less(t, time.Since(began), budget+time.Second)
	require.Greater(t, time.Since(began), pace().Renew, "long enough for a renewal that must not come")
	require.Equal(t, last, o.Text(t, beats, r.ExecutorID()))
	require.Equal(t, "active", o.Lease(t, r.id()))
	require.Equal(t, 1, r.log.count(signal.Shutdown, signal.StageTimedOut))

	close(opened)
	awaitNoSessions(t, o)
	require.Equal(t, "PENDING", o.Status(t, "a"))
	require.Equal(t, "0", o.Steps(t, "a"))
	require.Empty(t, o.Order(t, "a"))
}

// H1, H2, D13: after a clean stop nothing is left: no session, no goroutine (TestMain looks), no private queue, and the
// records of no probe.
func TestACleanStopLeavesNothing(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := launch(t, config(d), single)
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitStatus(t, "SUCCESS", "a")
	require.NoError(t, r.stop(t.Context()))
	awaitNoSessions(t, o)
	require.Equal(t, "released", o.Lease(t, r.id()))
	for _, leftovers := range []string{
		`select count(*) from dbos.queues where name like 'kesita-probe-%'`,
		`select count(*) from dbos.workflow_status where workflow_uuid <> 'a'`,
		`select count(*) from dbos.workflow_input where workflow_uuid <> 'a'`,
		`select count(*) from dbos.workflow_output where workflow_uuid <> 'a'`,
		`select count(*) from dbos.operation_outputs where workflow_uuid <> 'a'`,
	} {
		require.Equal(t, "0", o.Text(t, leftovers), leftovers)
	}
	require.EqualValues(t, -1, r.exit.Load())
}

// A runtime that was opened and never launched stops cleanly too.
func TestAStopBeforeTheLaunchIsClean(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := open(t, config(d))
	require.NoError(t, r.stop(t.Context()))
	require.Equal(t, "released", o.Lease(t, r.id()))
	awaitNoSessions(t, o)
}

// A caller's shorter patience bounds the stop.
func TestACallersShorterBudgetBoundsTheStop(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	opened := make(chan struct{})
	r := launch(t, config(d), gated(opened, true))
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitOrder(t, "running/a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	within(t, pace().Shutdown/2, func() { require.ErrorIs(t, r.stop(ctx), coordination.ErrNotClean) })
	close(opened)
}
