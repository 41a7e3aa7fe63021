package coordination_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// dbos-sdk 10.2, D7: a refused checkpoint ends the process through the watchdog, with the code that asks for a fresh
// one, whatever the rest does; the lease is not given back, and a peer completes the work with one effect.
func TestARefusedCheckpointEndsInAForcedExitAndAPeerCompletesTheWork(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	harness.Inject(t, d, harness.AtCheckpoint("a", 0, "57014", 1))
	first := launch(t, config(d), single)
	harness.Submit(t, d, orders, "shop.order", "a")
	<-first.Verdict()
	harness.Await(t, "the watchdog says why", func() bool { return first.log.count(signal.Watchdog, signal.CheckpointFailed) == 1 })
	require.Equal(t, boot.ExitRestart, first.awaitExit(t))
	require.Equal(t, "PENDING", o.Status(t, "a"))
	require.ErrorContains(t, first.stop(context.Background()), string(signal.CheckpointFailed))
	require.Equal(t, "active", o.Lease(t, first.id()), "a condemned worker gives nothing back")

	second := launch(t, config(d), single)
	expire(t, d, first)
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, first.id()+"/0", o.Order(t, "a"), "the effect is the first worker's; the second found it")
	require.Equal(t, "revoked", o.Lease(t, first.id()))
	require.NoError(t, second.stop(t.Context()))
}

// H1, H2, K3: an orderly stop leaves running workflows pending, gives the lease back, and a peer goes on at once.
func TestAnOrderlyStopHandsRunningWorkOver(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	opened := make(chan struct{})
	first := launch(t, config(d), gated(opened, false))
	harness.Submit(t, d, orders, "shop.order", "a")
	harness.Await(t, "a runs", func() bool { return len(first.Host().Active()) == 1 })
	second := launch(t, config(d), gated(opened, false))

	require.NoError(t, first.stop(t.Context()))
	require.Equal(t, "released", o.Lease(t, first.id()))
	require.Equal(t, 1, first.log.count(signal.Shutdown, signal.Released))
	harness.Await(t, "the peer runs it", func() bool { return len(second.Host().Active()) == 1 })
	close(opened)
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, second.id()+"/0", o.Order(t, "a"))
	require.Equal(t, "1", o.Text(t, `select recovery_attempts from dbos.workflow_status where workflow_uuid = 'a'`), "K3: a deploy costs no attempt")
	require.NoError(t, second.stop(t.Context()))
	require.Zero(t, first.exit.Load()+1, "nobody forced an exit")
}

// H1: the cancellation of whoever started the runtime is not the workflows'.
func TestTheCancellationOfTheParentCancelsNoWorkflow(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	opened := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(opened) }) })
	parent, cancel := context.WithCancel(t.Context())
	r := openIn(parent, t, config(d))
	gated(opened, false)(r)
	require.NoError(t, r.Launch(parent))
	harness.Submit(t, d, orders, "shop.order", "a")
	harness.Await(t, "a runs", func() bool { return len(r.Host().Active()) == 1 })
	cancel()
	harness.Submit(t, d, orders, "shop.order", "b")
	harness.Await(t, "b runs too", func() bool { return len(r.Host().Active()) == 2 })
	require.Equal(t, "PENDING", o.Status(t, "a"))
	once.Do(func() { close(opened) })
	o.AwaitStatus(t, "SUCCESS", "a")
	o.AwaitStatus(t, "SUCCESS", "b")
	require.NoError(t, r.stop(t.Context()))
}
