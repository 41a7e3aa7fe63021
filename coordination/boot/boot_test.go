package boot_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = state("57P03")

// start runs boot with attempts that fail with the given errors and then succeed, on the fake clock. It returns the
// times between the attempts, the announced delays and the log.
func start(ctx context.Context, errs ...error) (pauses, announced []time.Duration, log string, err error) {
	var lines bytes.Buffer
	var last time.Time
	err = boot.Run(ctx, boot.Config{
		Timing: timing.Production(), Log: signal.New(signal.JSON(&lines, slog.LevelDebug)),
		Starting: func(_ int, delay time.Duration) { announced = append(announced, delay) },
		Attempt: func(context.Context) error {
			if !last.IsZero() {
				pauses = append(pauses, time.Since(last))
			}
			last = time.Now()
			if n := len(announced); n <= len(errs) {
				return errs[n-1]
			}
			return nil
		},
	})
	return pauses, announced, lines.String(), err
}

func many(err error, count int) []error {
	list := make([]error, count)
	for i := range list {
		list[i] = err
	}
	return list
}

// H6: first between a half and one second, then growing, at last between 15 and 30; announced as they are.
func TestPausesGrowFromHalfASecondToThirty(t *testing.T) {
	t.Parallel()
	var shortest, longest time.Duration = time.Hour, 0
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			pauses, announced, _, err := start(t.Context(), many(errDown, 12)...)
			require.NoError(t, err)
			require.Len(t, pauses, 12)
			require.Equal(t, announced[:12], pauses)
			ceiling := time.Second
			for i, pause := range pauses {
				require.GreaterOrEqual(t, pause, ceiling/2, i)
				require.LessOrEqual(t, pause, ceiling, i)
				ceiling = min(2*ceiling, 30*time.Second)
			}
			shortest, longest = min(shortest, pauses[11]), max(longest, pauses[11])
		})
	}
	require.Less(t, shortest, 17*time.Second, "spread over the whole upper half: replicas must not come back together")
	require.Greater(t, longest, 28*time.Second)
}

// H6: cancellable at any moment, the pause and the attempt alike.
func TestAStartCanBeCancelledInThePauseAndInTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, _, log, err := start(ctx, many(errDown, 100)...)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.NotContains(t, log, `"level":"ERROR"`)
	})
	ctx, cancel := context.WithCancel(t.Context())
	attempts := 0
	err := boot.Run(ctx, boot.Config{
		Timing: timing.Production(), Log: signal.New(nil), Starting: func(int, time.Duration) {},
		Attempt: func(ctx context.Context) error {
			attempts++
			cancel()
			<-ctx.Done()
			return errors.Join(errDown, ctx.Err())
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, attempts)
}

// H6: an error that no waiting heals ends the start at its first sight, whatever came before.
func TestAFatalErrorEndsTheStartAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wrong := state("28P01")
		pauses, announced, log, err := start(t.Context(), errDown, wrong, errDown)
		require.ErrorIs(t, err, wrong)
		require.Len(t, pauses, 1)
		require.Len(t, announced, 2)
		lines := strings.Split(strings.TrimSpace(log), "\n")
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], `"operation":"executor_startup","reason":"database_unavailable","attempt":1`)
		require.Contains(t, lines[0], `"next_delay_ms":`)
		require.Contains(t, lines[1], `"reason":"authentication_refused","attempt":2`)
		require.Contains(t, lines[1], `"level":"ERROR"`)
	})
}

// H6: attempts are numbered from one, and success ends the loop.
func TestAttemptsAreNumberedFromOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var numbers []int
		require.NoError(t, boot.Run(t.Context(), boot.Config{
			Timing: timing.Production(), Log: signal.New(nil),
			Starting: func(attempt int, _ time.Duration) { numbers = append(numbers, attempt) },
			Attempt: func(context.Context) error {
				if len(numbers) < 3 {
					return errDown
				}
				return nil
			},
		}))
		require.Equal(t, []int{1, 2, 3}, numbers)
	})
}
