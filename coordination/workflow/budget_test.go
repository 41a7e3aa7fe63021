package workflow_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func retrieve(b *bench, id string) (dbos.WorkflowHandle[string], error) {
	return dbos.RetrieveWorkflow[string](b.sdk, id)
}

func tight() timing.Timing {
	t := fast()
	t.StepExecute, t.StepSettle, t.StepCooperate = time.Second, 50*time.Millisecond, time.Second
	return t
}

// D8: a step that used up its budget and stops when told has ErrStepBudget as its durable outcome: the workflow goes
// on with it, also after a replay.
func TestACooperativeStepOverItsBudgetFailsDurably(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	heard := make(chan error, 2)
	open := make(chan struct{})
	var runs atomic.Int32
	register := func(b *bench) {
		workflow.Register(b, "shop.slow", func(ctx workflow.Context, _ string) (string, error) {
			_, err := workflow.RunStep(ctx, "slow", func(ctx context.Context) (string, error) {
				runs.Add(1)
				<-ctx.Done()
				return "", ctx.Err()
			}, workflow.Settle())
			heard <- err
			return workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
				select {
				case <-open:
					return "went on", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			})
		})
	}
	with := tight()
	with.StepExecute = time.Minute
	first := set(t, d, with)
	register(first)
	first.launch(t)
	first.enqueue(t, "shop.slow", "a")
	before := <-heard
	require.ErrorIs(t, before, workflow.ErrStepBudget)
	require.ErrorContains(t, before, "50ms")
	require.Equal(t, "1", first.observer.Steps(t, "a"))
	first.close()

	peer := set(t, d, with)
	register(peer)
	first.recover(t)
	peer.launch(t)
	after := <-heard
	require.Equal(t, before, after)
	require.ErrorIs(t, after, workflow.ErrStepBudget)
	close(open)
	peer.observer.AwaitStatus(t, "SUCCESS", "a")
	require.EqualValues(t, 1, runs.Load())
	require.Empty(t, peer.tripped("a"))
}

// D9: a step that ignores its cancellation gets its time to cooperate, then the process ends. Nothing is checkpointed for
// work that still runs, not even when it returns at last.
func TestAStepThatIgnoresItsBudgetEndsTheProcessAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, tight())
	open, returned := make(chan struct{}), make(chan struct{})
	began := make(chan time.Time, 1)
	workflow.Register(b, "shop.stubborn", func(ctx workflow.Context, _ string) (string, error) {
		return workflow.RunStep(ctx, "stubborn", func(context.Context) (string, error) {
			began <- time.Now()
			defer close(returned)
			<-open
			return "late", nil
		}, workflow.Settle())
	})
	b.launch(t)
	b.enqueue(t, "shop.stubborn", "a")
	b.awaitTrip(t, signal.StepOverBudget, "a")
	require.GreaterOrEqual(t, time.Since(<-began), tight().StepSettle+tight().StepCooperate)
	b.untouched(t, "a", "0")
	close(open)
	<-returned
	b.close()
	b.untouched(t, "a", "0")
}

// D9: who stops within the time to cooperate is not stubborn.
func TestAStepMayUseItsTimeToCooperate(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, tight())
	workflow.Register(b, "shop.tidy", func(ctx workflow.Context, _ string) (string, error) {
		return workflow.RunStep(ctx, "tidy", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			select {
			case <-time.After(tight().StepCooperate / 2):
				return "tidied up", nil
			case <-t.Context().Done():
				return "", t.Context().Err()
			}
		}, workflow.Settle())
	})
	b.launch(t)
	b.enqueue(t, "shop.tidy", "a")
	b.observer.AwaitStatus(t, "SUCCESS", "a")
	require.Empty(t, b.tripped("a"))
}

// D8: tries after an error that heals share one budget. A fault that never heals ends the step, and its text says why.
func TestAFaultThatNeverHealsEndsWithTheBudget(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, tight())
	workflow.Register(b, "shop.order", single(b))
	harness.Inject(t, d, harness.AtOrder("effect/a", "57014", 0))
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	b.observer.AwaitStatus(t, "ERROR", "a")
	handle, err := retrieve(b, "a")
	require.NoError(t, err)
	_, err = handle.GetResult()
	require.ErrorIs(t, err, workflow.ErrStepBudget)
	require.ErrorContains(t, err, "57014")
	require.Empty(t, b.tripped("a"))
}

// D8: what ends a workflow is not the step's own outcome: an orderly stop is no ErrStepBudget.
func TestAnOrderlyStopIsNotOverBudget(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	heard := make(chan error, 1)
	workflow.Register(b, "shop.wait", func(ctx workflow.Context, _ string) (string, error) {
		out, err := workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", errors.New("told to stop")
		})
		heard <- err
		return out, err
	})
	b.launch(t)
	b.enqueue(t, "shop.wait", "a")
	harness.Await(t, "a runs", func() bool { return len(b.host.Active()) == 1 })
	b.close()
	require.NotErrorIs(t, <-heard, workflow.ErrStepBudget)
	b.untouched(t, "a", "0")
}
