package backlog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/backlog"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict is one call of Trip.
type verdict struct {
	after  time.Duration
	reason signal.Reason
	attrs  map[string]any
}

// watched runs a monitor in production's timing, on a fake clock, over queues that change with time, and returns what
// it decided and logged. An observation that is nil fails.
func watched(t *testing.T, long time.Duration, observe func(at, lookback time.Duration) []journal.Observation) (verdicts []verdict, log string) {
	t.Helper()
	lines := &bytes.Buffer{}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := backlog.New(backlog.Config{
			Queues: []string{"orders", journal.InternalQueue}, Timing: timing.Production(), Log: signal.New(signal.JSON(lines, slog.LevelDebug)),
			Observe: func(_ context.Context, queues []string, lookback time.Duration) ([]journal.Observation, error) {
				require.Equal(t, []string{"orders", journal.InternalQueue}, queues)
				list := observe(time.Since(began), lookback)
				if list == nil {
					return nil, errors.New("no answer")
				}
				return list, nil
			},
			Trip: func(reason signal.Reason, attrs ...slog.Attr) {
				v := verdict{after: time.Since(began), reason: reason, attrs: map[string]any{}}
				for _, a := range attrs {
					v.attrs[a.Key] = a.Value.Any()
				}
				verdicts = append(verdicts, v)
			},
		})
		m.Start(t.Context())
		<-time.After(long)
		m.Stop()
	})
	return verdicts, lines.String()
}

func first(t *testing.T, verdicts []verdict) verdict {
	t.Helper()
	require.NotEmpty(t, verdicts)
	return verdicts[0]
}

// waiting is a queue with work and room.
func waiting() journal.Observation {
	return journal.Observation{Queue: "orders", Backlog: 3, Capacity: new(int64(2)), Poll: time.Second}
}

func always(o journal.Observation) func(at, lookback time.Duration) []journal.Observation {
	return func(_, _ time.Duration) []journal.Observation { return []journal.Observation{o} }
}

// D5: 120 s, 5 % and two observations; the next look after that decides.
func TestAQueueThatCouldClaimAndDoesNotEndsTheProcess(t *testing.T) {
	t.Parallel()
	verdicts, log := watched(t, 3*time.Minute, always(waiting()))
	require.Equal(t, verdict{
		after: 140 * time.Second, reason: signal.QueueStalled,
		attrs: map[string]any{"queue": "orders", "backlog": int64(3), "capacity": int64(2), "since_last_claim_ms": int64(140_000)},
	}, first(t, verdicts))
	require.Empty(t, log)
}

// D5: a queue that polls less often than the SDK's longest pause gets as much more time.
func TestTheBudgetGrowsWithThePollingInterval(t *testing.T) {
	t.Parallel()
	for poll, after := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 140 * time.Second,
		time.Second:            140 * time.Second,
		120 * time.Second:      140 * time.Second,
		200 * time.Second:      225 * time.Second,
		600 * time.Second:      645 * time.Second,
	} {
		o := waiting()
		o.Poll = poll
		verdicts, _ := watched(t, 11*time.Minute, always(o))
		require.Equal(t, after, first(t, verdicts).after, poll)
	}
}

// Whatever shows that the queue moves, or could not have moved, starts the count again.
func TestTheCountBeginsAgain(t *testing.T) {
	t.Parallel()
	const at = 100 * time.Second
	for name, c := range map[string]struct {
		change func(*journal.Observation)
		after  time.Duration
	}{
		"WithEachClaim":                 {func(o *journal.Observation) { o.LastClaim = 7 }, at + 140*time.Second},
		"WithAClaimThatEmptiesTheQueue": {func(o *journal.Observation) { o.LastClaim, o.Backlog = 7, 0 }, at + 145*time.Second},
		"WhenNothingWaits":              {func(o *journal.Observation) { o.Backlog = 0 }, at + 145*time.Second},
		"WhenTheCapacityIsTaken":        {func(o *journal.Observation) { o.Capacity = new(int64(0)) }, at + 145*time.Second},
		"ButNotWithMoreBacklog":         {func(o *journal.Observation) { o.Backlog = 400 }, 140 * time.Second},
		"ButNotWhenTheLimitIsTakenAway": {func(o *journal.Observation) { o.Capacity = nil }, 140 * time.Second},
		"ButNotWithAnOlderClaim":        {func(o *journal.Observation) { o.LastClaim = -1 }, 140 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdicts, _ := watched(t, 5*time.Minute, func(now, _ time.Duration) []journal.Observation {
				o := waiting()
				if now == at {
					c.change(&o)
				}
				return []journal.Observation{o}
			})
			require.Equal(t, c.after, first(t, verdicts).after)
		})
	}
}

// Recovery and retention take claimed rows away: an older newest claim is no claim, and the old one again neither.
func TestTheNewestClaimIsAHighWaterMark(t *testing.T) {
	t.Parallel()
	verdicts, _ := watched(t, 5*time.Minute, func(now, _ time.Duration) []journal.Observation {
		o := waiting()
		o.LastClaim = 9
		if now >= 30*time.Second && now < 60*time.Second {
			o.LastClaim = 3
		}
		return []journal.Observation{o}
	})
	require.Equal(t, 140*time.Second, first(t, verdicts).after)
}

// D5: capacity taken, rates, delays and foreign versions look like no room or no backlog; none of them ever trips.
func TestAQueueThatCannotClaimIsNoStall(t *testing.T) {
	t.Parallel()
	full, empty := waiting(), waiting()
	full.Capacity = new(int64(0))
	empty.Backlog = 0
	for _, o := range []journal.Observation{full, empty} {
		verdicts, _ := watched(t, 24*time.Hour, always(o))
		require.Empty(t, verdicts)
	}
	verdicts, _ := watched(t, 24*time.Hour, func(now, _ time.Duration) []journal.Observation {
		o := waiting()
		o.LastClaim = int64(now / (126 * time.Second)) // the SDK's longest pause, over and over
		return []journal.Observation{o}
	})
	require.Empty(t, verdicts)
}

func TestEachQueueIsCountedAloneAndTheLongestStallIsNamed(t *testing.T) {
	t.Parallel()
	verdicts, _ := watched(t, 200*time.Second, func(now, _ time.Duration) []journal.Observation {
		moving, late, stuck := waiting(), waiting(), waiting()
		moving.Queue, moving.LastClaim = "a-moving", int64(now)
		late.Queue = "b-late"
		if now < 2*time.Second {
			late.Backlog = 0
		}
		stuck.Queue, stuck.Capacity = "c-stuck", nil
		return []journal.Observation{moving, late, stuck}
	})
	require.Equal(t, "c-stuck", first(t, verdicts).attrs["queue"])
	require.NotContains(t, first(t, verdicts).attrs, "capacity", "nothing limits it")
	require.Equal(t, "c-stuck", verdicts[1].attrs["queue"], "the longest first, also when two stall")
	require.Equal(t, "b-late", verdicts[2].attrs["queue"])
}

// An observation without an answer says nothing. The next one asks for the claims of the whole time since the last
// answer, so that none is missed.
func TestAFailedObservationIsNoStallAndHidesNoClaim(t *testing.T) {
	t.Parallel()
	asked := map[time.Duration]time.Duration{}
	verdicts, log := watched(t, 6*time.Minute, func(now, lookback time.Duration) []journal.Observation {
		asked[now] = lookback
		if now >= 60*time.Second && now < 160*time.Second {
			return nil
		}
		o := waiting()
		if now == 160*time.Second && lookback >= 160*time.Second-55*time.Second {
			o.LastClaim = 5 // of a workflow that ended long ago
		}
		return []journal.Observation{o}
	})
	require.Equal(t, 300*time.Second, first(t, verdicts).after)
	require.Equal(t, 10*time.Second, asked[0])
	require.Equal(t, 15*time.Second, asked[5*time.Second])
	require.Equal(t, 115*time.Second, asked[160*time.Second])
	require.Equal(t, 20, bytes.Count([]byte(log), []byte(`"reason":"observation_failed"`)))
}

func TestTheEndOfTheMonitorIsNoFault(t *testing.T) {
	t.Parallel()
	lines := &bytes.Buffer{}
	m := backlog.New(backlog.Config{
		Timing: timing.Production(), Log: signal.New(signal.JSON(lines, slog.LevelDebug)),
		Observe: func(ctx context.Context, _ []string, _ time.Duration) ([]journal.Observation, error) {
			<-ctx.Done()
			return nil, errors.New("connection closed")
		},
	})
	m.Start(t.Context())
	m.Stop()
	require.Empty(t, lines.String())
}
