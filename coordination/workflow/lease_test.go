package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// K5: every run of every body is preceded by a lease check of its own; a replayed step is not run and asks nothing.
func TestEveryRunOfABodyIsPrecededByALeaseCheck(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	checks := make(chan int, 3)
	workflow.Register(b, "shop.order", func(ctx workflow.Context, id string) (string, error) {
		if _, err := workflow.RunStep(ctx, "first", func(context.Context) (string, error) {
			checks <- b.checked()
			return "", nil
		}); err != nil {
			return "", err
		}
		return workflow.RunStep(ctx, "second", func(ctx context.Context) (string, error) {
			checks <- b.checked()
			return b.effect(id)(ctx)
		})
	})
	harness.Inject(t, d, harness.AtOrder("effect/a", "40001", 1))
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	b.observer.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, []int{1, 2, 3}, []int{<-checks, <-checks, <-checks})
}

// K5: while nobody can tell whether the lease is valid the body does not run, nobody exits, and the workflow hears
// nothing of it; it goes on as soon as the database answers.
func TestAStepWaitsWhileNobodyCanTellWhetherTheLeaseIsValid(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	away := make(chan struct{}, 100)
	b.answer(func(context.Context) (time.Duration, error) {
		away <- struct{}{}
		return 0, errors.New("no answer")
	})
	workflow.Register(b, "shop.order", single(b))
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	for range 5 {
		<-away
	}
	require.Empty(t, b.runs(t, "a"))
	require.Empty(t, b.tripped("a"))
	require.Equal(t, "PENDING", b.observer.Status(t, "a"))
	b.answer(func(context.Context) (time.Duration, error) { return time.Minute, nil })
	b.observer.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, "1", b.runs(t, "a"))
}

// K5, F7: a lease that is over ends the process before the body runs.
func TestAStepWithoutALeaseIsNotRun(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	b.answer(func(context.Context) (time.Duration, error) { return 0, &pgconn.PgError{Code: "KF001"} })
	workflow.Register(b, "shop.order", single(b))
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	b.awaitTrip(t, signal.LeaseLost, "a")
	require.Empty(t, b.runs(t, "a"))
	b.close()
	b.untouched(t, "a", "0")
}
