package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// single is a workflow of one step with an effect. Its effect's row is what faults are put on.
func single(b *bench) func(ctx workflow.Context, id string) (string, error) {
	return func(ctx workflow.Context, id string) (string, error) {
		if _, err := workflow.RunStep(ctx, "only", b.effect(id)); err != nil {
			return "", fmt.Errorf("gave up: %w", err)
		}
		return "ok", nil
	}
}

// A database error in the body that waiting can heal is waited out where it happened.
func TestABodyIsRunAgainInPlaceAfterAnErrorThatHeals(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", single(b))
	codes := append(interruptions(), "57014", "40001", "40P01", "55P03", "53300", "25P03", "57P05", "25006", "57P01", "KF004")
	for _, code := range codes {
		harness.Inject(t, d, harness.AtOrder("effect/"+code, code, 2))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", codes...)
	for _, code := range codes {
		b.observer.AwaitStatus(t, "SUCCESS", code)
		require.Empty(t, b.tripped(code), code)
		require.Equal(t, "3", b.runs(t, code), code)
		require.Equal(t, "1", b.observer.Steps(t, code), code)
		require.NotEmpty(t, b.observer.Order(t, "effect/"+code), code)
	}
}

// The fence's refusal in the body never heals: the process ends and nothing is recorded (F2).
func TestAFencedBodyEndsTheProcessAndIsNoFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", single(b))
	codes := []string{"KF001", "KF002", "KF003"}
	for _, code := range codes {
		harness.Inject(t, d, harness.AtOrder("effect/"+code, code, 0))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", codes...)
	for _, code := range codes {
		b.awaitTrip(t, signal.FenceRefused, code)
		b.untouched(t, code, "0")
		require.Equal(t, "1", b.runs(t, code), code)
	}
	b.close()
	for _, code := range codes {
		b.untouched(t, code, "0")
	}
}

// An error that no waiting heals is the step's own, also one of the database: a broken rule, a forgotten grant.
func TestAnErrorThatNoWaitingHealsIsTheStepsOwn(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", single(b))
	codes := []string{"23505", "23514", "22P02", "42501", "42P01", "P0001"}
	for _, code := range codes {
		harness.Inject(t, d, harness.AtOrder("effect/"+code, code, 0))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", codes...)
	for _, code := range codes {
		b.observer.AwaitStatus(t, "ERROR", code)
		require.Empty(t, b.tripped(code), code)
		require.Equal(t, "1", b.runs(t, code), code)
	}
}

// A step's own file, HTTP call or deadline fails in words that also a lost database connection has. It is not one: the
// step is not run again and again for half an hour.
func TestWhatIsNotTheDatabasesIsNotWaitedOut(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	own := map[string]error{
		"cut":      fmt.Errorf("read archive: %w", io.ErrUnexpectedEOF),
		"empty":    io.EOF,
		"http":     &url.Error{Op: "Get", URL: "http://provider.test", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}},
		"body":     &net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		"deadline": fmt.Errorf("parse: %w", context.DeadlineExceeded),
		"words":    errors.New("http2: client conn closed by peer; closed pool"),
	}
	workflow.Register(b, "shop.order", func(ctx workflow.Context, id string) (string, error) {
		return workflow.RunStep(ctx, "only", func(ctx context.Context) (string, error) {
			return "", errors.Join(b.count(ctx, id), own[id])
		})
	})
	b.launch(t)
	for id := range own {
		b.enqueue(t, "shop.order", id)
	}
	for id := range own {
		b.observer.AwaitStatus(t, "ERROR", id)
		require.Empty(t, b.tripped(id), id)
		require.Equal(t, "1", b.runs(t, id), id)
	}
}

// errSoldOut is a sentinel of the shop's.
var errSoldOut = errors.New("sold out")

// A business error is recorded, and a peer that replays the step gets what the first run got: same type, same text, no
// chain that only the first process has.
func TestABusinessErrorIsRecordedAndReplayedEqual(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	type answer struct {
		err    error
		ofShop bool
		budget bool
	}
	heard := make(chan answer, 2)
	open := make(chan struct{})
	register := func(b *bench) {
		workflow.Register(b, "shop.order", func(ctx workflow.Context, id string) (string, error) {
			_, err := workflow.RunStep(ctx, "refuse", func(ctx context.Context) (string, error) {
				return "", errors.Join(b.count(ctx, id), fmt.Errorf("order 7: %w", errSoldOut))
			})
			heard <- answer{err, errors.Is(err, errSoldOut), errors.Is(err, workflow.ErrStepBudget)}
			if _, waited := workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
				select {
				case <-open:
					return "", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}); waited != nil {
				return "", waited
			}
			return "", fmt.Errorf("ship: %w", err)
		})
	}
	first := set(t, d, fast())
	register(first)
	first.launch(t)
	first.enqueue(t, "shop.order", "a")
	before := <-heard
	require.EqualError(t, before.err, "order 7: sold out")
	first.close()
	require.Equal(t, "PENDING", first.observer.Status(t, "a"))

	peer := set(t, d, fast())
	register(peer)
	first.recover(t)
	peer.launch(t)
	require.Equal(t, before, <-heard)
	require.False(t, before.ofShop || before.budget)
	close(open)
	peer.observer.AwaitStatus(t, "ERROR", "a")
	require.Equal(t, "1", peer.runs(t, "a"))
	handle, err := retrieve(peer, "a")
	require.NoError(t, err)
	_, err = handle.GetResult()
	require.Equal(t, &workflow.Failure{Message: "ship: order 7: sold out"}, err)
}

// A platform error that hides in a business error is still the platform's.
func TestWrappingDoesNotTurnTheFenceIntoAFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", func(ctx workflow.Context, _ string) (string, error) {
		return workflow.RunStep(ctx, "only", func(context.Context) (string, error) {
			return "", errors.Join(errSoldOut, &pgconn.PgError{Code: "KF002", Message: strings.Repeat("x", 10)})
		})
	})
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	b.awaitTrip(t, signal.FenceRefused, "a")
	b.untouched(t, "a", "0")
}
