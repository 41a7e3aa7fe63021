package watchdog_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/coordination/watchdog"
)

func TestMain(m *testing.M) {
	if os.Getenv(hungVariable) != "" {
		hang()
	}
	goleak.VerifyTestMain(m)
}

const code = 75

// watched returns a watchdog that writes down its exits instead of making them.
func watched(limits timing.Timing, logger *slog.Logger) (dog *watchdog.Watchdog, exits chan int) {
	exits = make(chan int, 8)
	return watchdog.New(watchdog.Config{
		Timing: limits, Log: signal.New(logger), Code: code, Exit: func(code int) { exits <- code },
	}), exits
}

func given(dog *watchdog.Watchdog) bool {
	select {
	case <-dog.Verdict():
		return true
	default:
		return false
	}
}

// D6, D10: the success was reported 20 s after it was sent. The limit counts from the sending.
func TestTheLimitCountsFromTheSendTimeOfTheLastSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := timing.Production()
		dog, exits := watched(limits, nil)
		dog.Watch("renewal", signal.RenewalStalled)
		dog.Start(t.Context())
		<-time.After(10 * time.Second)
		sent := time.Now()
		<-time.After(20 * time.Second)
		dog.Progress("renewal", sent)

		<-time.After(time.Until(sent.Add(limits.Watchdog)))
		synctest.Wait()
		require.False(t, given(dog), "not before")
		<-dog.Verdict()
		require.LessOrEqual(t, time.Since(sent), limits.Watchdog+limits.WatchdogTick)
		require.Greater(t, time.Since(sent), limits.Watchdog)
		require.Equal(t, signal.RenewalStalled, dog.Reason())

		verdict := time.Now()
		require.Equal(t, code, <-exits)
		require.Equal(t, limits.ForcedExit, time.Since(verdict), "D7")
		dog.Stop()
	})
}

// D6: each part alone is enough, however well the others do.
func TestOneStalledPartIsEnough(t *testing.T) {
	t.Parallel()
	for stalled, reason := range map[string]signal.Reason{
		"renewal": signal.RenewalStalled, "scan": signal.ScanStalled, "probe": signal.ProbeStalled,
	} {
		synctest.Test(t, func(t *testing.T) {
			dog, exits := watched(timing.Production(), nil)
			dog.Watch("renewal", signal.RenewalStalled)
			dog.Watch("scan", signal.ScanStalled)
			dog.Watch("probe", signal.ProbeStalled)
			dog.Start(t.Context())
			for !given(dog) {
				<-time.After(5 * time.Second)
				for _, part := range []string{"renewal", "scan", "probe"} {
					if part != stalled {
						dog.Progress(part, time.Now())
					}
				}
			}
			require.Equal(t, reason, dog.Reason())
			<-exits
			dog.Stop()
		})
	}
}

// D6: a worker whose parts all work is never stopped.
func TestSteadyProgressIsNeverStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dog, _ := watched(timing.Production(), nil)
		dog.Watch("renewal", signal.RenewalStalled)
		dog.Start(t.Context())
		for range 1000 {
			<-time.After(44 * time.Second)
			dog.Progress("renewal", time.Now())
		}
		require.False(t, given(dog))
		dog.Stop()
	})
}

// D10: an answer that arrives late must not take back what a newer one proved, nor one about a part nobody watches.
func TestProgressNeverMovesBackwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dog, _ := watched(timing.Production(), nil)
		dog.Watch("renewal", signal.RenewalStalled)
		first := time.Now()
		<-time.After(10 * time.Second)
		dog.Progress("renewal", time.Now())
		dog.Progress("renewal", first)
		dog.Progress("nothing", time.Now())
		<-time.After(3 * time.Second)
		require.Equal(t, map[string]time.Duration{"renewal": 3 * time.Second}, dog.Ages())
		dog.Stop()
	})
}

func TestOnlyTheFirstVerdictCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := timing.Production()
		dog, exits := watched(limits, nil)
		require.Empty(t, dog.Reason())
		dog.Trip(signal.LeaseLost)
		began := time.Now()
		<-time.After(limits.ForcedExit / 2)
		dog.Trip(signal.ScanStalled)
		require.Equal(t, signal.LeaseLost, dog.Reason())
		<-exits
		require.Equal(t, limits.ForcedExit, time.Since(began), "a second verdict puts nothing off")
		<-time.After(time.Hour)
		require.Empty(t, exits)
		dog.Stop()
	})
}

// D7: an orderly stop that follows the verdict does not call the exit off.
func TestAStopAfterTheVerdictStillEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dog, exits := watched(timing.Production(), nil)
		dog.Start(t.Context())
		dog.Trip(signal.LeaseLost)
		dog.Stop()
		require.Equal(t, code, <-exits)
	})
}

func TestAStopBeforeAnyVerdictRetires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dog, exits := watched(timing.Production(), nil)
		dog.Watch("renewal", signal.RenewalStalled)
		dog.Start(t.Context())
		dog.Stop()
		dog.Stop()
		dog.Trip(signal.LeaseLost)
		<-time.After(time.Hour)
		require.False(t, given(dog))
		require.Empty(t, exits)
	})
}

// K9: a verdict that was given is carried out, and one that was not given is not, at any interleaving with Stop.
func TestAVerdictAndAStopAtTheSameTimeNeverLoseTheExit(t *testing.T) {
	t.Parallel()
	limits := timing.Production().Scale(0.0001)
	for range 300 {
		dog, exits := watched(limits, nil)
		var both sync.WaitGroup
		both.Go(func() { dog.Trip(signal.LeaseLost) })
		both.Go(dog.Stop)
		both.Wait()
		if given(dog) {
			require.Equal(t, code, <-exits)
		}
	}
}

// blocked is a log that takes no line while it is open.
type blocked struct {
	slog.Handler
	open chan struct{}
}

func (blocked) Enabled(context.Context, slog.Level) bool { return true }

func (b blocked) Handle(context.Context, slog.Record) error {
	<-b.open
	return nil
}

// K9: the log blocks and the watchdog's own lock is held for ever. Verdict and exit come all the same.
func TestTheForcedExitNeedsNeitherTheLogNorTheLock(t *testing.T) {
	t.Parallel()
	limits, open := timing.Production().Scale(0.01), make(chan struct{})
	dog, exits := watched(limits, slog.New(blocked{slog.DiscardHandler, open}))
	dog.Watch("renewal", signal.RenewalStalled)
	giveBack, hung := dog.Seize(), sync.WaitGroup{}
	hung.Go(func() { dog.Watch("another", signal.ScanStalled) })
	hung.Go(func() { dog.Ages() })
	tripped := time.Now()
	hung.Go(func() { dog.Trip(signal.StepOverBudget) })
	<-dog.Verdict()
	require.Equal(t, signal.StepOverBudget, dog.Reason())
	require.Equal(t, code, <-exits)
	require.GreaterOrEqual(t, time.Since(tripped), limits.ForcedExit)
	close(open)
	giveBack()
	hung.Wait()
}
