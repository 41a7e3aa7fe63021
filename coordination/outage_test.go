package coordination_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// between starts a replica whose way to the database the test controls.
func between(t *testing.T, d *fixture.Database, with coordination.Timing, register func(*replica)) (*replica, *harness.Proxy) {
	t.Helper()
	network, through := harness.Between(t, d.WorkerURL)
	c := config(d)
	c.DatabaseURL, c.Timing = through, with
	return launch(t, c, register), network
}

// stepwise registers a workflow of two steps; between them it waits until open is closed, outside of any step.
func stepwise(open <-chan struct{}) func(*replica) {
	return func(r *replica) {
		workflow.Register(r, "shop.order", func(ctx workflow.Context, id string) (string, error) {
			if _, err := workflow.RunStep(ctx, "first", func(ctx context.Context) (string, error) { return "", r.write(ctx, "first/"+id) }); err != nil {
				return "", err
			}
			select {
			case <-open:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			return workflow.RunStep(ctx, "second", func(ctx context.Context) (string, error) { return "", r.write(ctx, "second/"+id) })
		})
	}
}

// K5, K11: in an outage shorter than the watchdog the next step waits and goes on by itself. Nobody exits, whether
// connections are refused or packets vanish.
func TestAShortOutageEndsNoWorkerAndFailsNoWorkflow(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*harness.Proxy){"Cut": (*harness.Proxy).Cut, "Silence": (*harness.Proxy).Silence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			opened := make(chan struct{})
			// Half of production: connecting again, all at once, takes a busy machine a while.
			r, network := between(t, d, coordination.ProductionTiming().Scale(0.5), stepwise(opened))
			harness.Submit(t, d, orders, "shop.order", "a")
			o.Await(t, "1", `select count(*) from dbos.operation_outputs where workflow_uuid = 'a'`)
			hurt(network)
			close(opened)
			failed := r.log.count(signal.Coordination, signal.RenewalFailed)
			harness.Await(t, "a renewal failed", func() bool { return r.log.count(signal.Coordination, signal.RenewalFailed) > failed })
			require.Empty(t, o.Order(t, "second/a"))
			network.Heal()
			o.AwaitStatus(t, "SUCCESS", "a")
			require.Equal(t, r.id()+"/0", o.Order(t, "second/a"))
			require.Equal(t, "2", o.Steps(t, "a"))
			require.False(t, r.condemned())
			require.NoError(t, r.stop(t.Context()))
		})
	}
}

// H5, D6, D7, D10: an outage that outlasts the watchdog ends the process on time, however the network fails and however much
// of it hangs: the verdict comes from the last renewal that was sent, the exit follows by force.
func TestALongOutageEndsTheProcessOnTime(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*harness.Proxy){"Cut": (*harness.Proxy).Cut, "Silence": (*harness.Proxy).Silence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			opened := make(chan struct{})
			r, network := between(t, d, pace(), stepwise(opened))
			harness.Submit(t, d, orders, "shop.order", "a")
			o.Await(t, "1", `select count(*) from dbos.operation_outputs where workflow_uuid = 'a'`)
			hurt(network)
			close(opened)
			began, timing := time.Now(), pace()
			<-r.Verdict()
			require.Less(t, time.Since(began), timing.Watchdog*3/2)
			require.Equal(t, boot.ExitRestart, r.awaitExit(t))
			require.Less(t, time.Since(began), timing.Watchdog*3/2+timing.ForcedExit)

			// A stop in the middle of it stays within its budget, and what was running is a peer's to finish.
			within(t, timing.Shutdown+time.Second, func() { require.ErrorIs(t, r.stop(t.Context()), coordination.ErrNotClean) })
			require.Equal(t, "PENDING", o.Status(t, "a"))
			require.Equal(t, "active", o.Lease(t, r.id()))
			network.Heal()
			peer := launch(t, config(d), stepwise(opened))
			expire(t, d, r)
			o.AwaitStatus(t, "SUCCESS", "a")
			require.Equal(t, peer.id()+"/0", o.Order(t, "second/a"))
			require.Equal(t, r.id()+"/0", o.Order(t, "first/a"))
			require.NoError(t, peer.stop(t.Context()))
		})
	}
}

// D4, D6: when only the private queue stands still, that alone ends the process, and the reason names it.
func TestAStalledPrivateQueueEndsTheProcessWhileTheRestWorks(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := open(t, config(d))
	single(r)
	harness.Inject(t, d, harness.Fault{
		Table: "dbos.workflow_status", On: "update", Code: "55000", When: "new.queue_name = 'kesita-probe-" + r.id() + "' and new.status = 'PENDING'",
	})
	require.NoError(t, r.Launch(t.Context()))
	harness.Await(t, "a probe failed", func() bool { return r.log.count(signal.Coordination, signal.ProbeFailed) > 0 })
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitStatus(t, "SUCCESS", "a")
	<-r.Verdict()
	harness.Await(t, "the watchdog says why", func() bool { return r.log.count(signal.Watchdog, signal.ProbeStalled) == 1 })
	require.Equal(t, boot.ExitRestart, r.awaitExit(t))
	require.Equal(t, "1", o.Text(t, `select count(*) from dbos.workflow_status where queue_name like 'kesita-probe-%'`), "given up on and joined, never doubled")
	require.ErrorIs(t, r.stop(t.Context()), coordination.ErrNotClean)
}
