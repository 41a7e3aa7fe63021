// Package backlog owns the business queue monitor: it notices that a queue has work that could be claimed and room
// for it, and that nobody claims (D5).
//
// The journal is authoritative for backlog, capacity and claims; the time without a claim is counted here, on the
// monotonic clock, and only while the queue could have been served. Capacity taken, a rate limit, a delay or a
// foreign version are not stalls. Blind spot, by design: a replica that stalled while its peers keep the queue moving
// (D12). The answer to a stall is the process's end: a fresh one listens again.
package backlog

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Config is what a monitor needs.
type Config struct {
	// Observe looks at the queues, and back for claims that are over already.
	Observe func(ctx context.Context, queues []string, lookback time.Duration) ([]journal.Observation, error)
	// Queues are the business queues that this worker serves, the SDK's internal one included; diagnostic ones not.
	Queues []string
	Timing timing.Timing
	Log    *signal.Log
	// Trip ends this process through the watchdog.
	Trip func(reason signal.Reason, attrs ...slog.Attr)
}

// Monitor observes every Timing.Monitor. Make it with New.
type Monitor struct {
	config Config
	loop   *service.Loop
	// looked is when the last observation that succeeded began.
	looked time.Time
	states map[string]state
}

type state struct {
	// since is the observation from which on the queue could claim and did not; zero while it is not claimable.
	since time.Time
	// lastClaim is a high-water mark: recovery and deletion take claimed rows away.
	lastClaim int64
}

// New returns a monitor that is not running yet.
func New(config Config) *Monitor {
	m := &Monitor{config: config, states: map[string]state{}}
	m.loop = service.NewLoop(service.Every(config.Timing.Monitor), func(ctx context.Context) { _, _ = m.RunOnce(ctx) })
	return m
}

// Start implements service.Service.
func (m *Monitor) Start(ctx context.Context) { m.loop.Start(ctx) }

// Stop implements service.Service.
func (m *Monitor) Stop() { m.loop.Stop() }

// Stall is a queue that could claim and did not for longer than its budget.
type Stall struct {
	Observation journal.Observation
	Idle        time.Duration
}

// RunOnce makes one observation and returns the queues that stall, the longest first. The first ends the process.
func (m *Monitor) RunOnce(ctx context.Context) ([]Stall, error) {
	now := time.Now()
	observations, err := m.config.Observe(ctx, m.config.Queues, m.lookback(now))
	if err != nil {
		if ctx.Err() == nil {
			m.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, signal.Fault(err))
		}
		return nil, err
	}
	m.looked = now
	var stalls []Stall
	for _, o := range observations {
		if idle := m.idle(now, o); idle > m.config.Timing.BacklogStall(o.Poll) {
			stalls = append(stalls, Stall{o, idle})
		}
	}
	slices.SortStableFunc(stalls, func(a, b Stall) int { return cmp.Compare(b.Idle, a.Idle) })
	for _, s := range stalls {
		m.config.Trip(signal.QueueStalled, attributes(s)...)
	}
	return stalls, nil
}

// lookback reaches over the last observation that succeeded: a claim in between must not be missed, however long
// observations failed. The database counts it by a clock of its own; two periods are the slack.
func (m *Monitor) lookback(now time.Time) time.Duration {
	slack := 2 * m.config.Timing.Monitor
	if m.looked.IsZero() {
		return slack
	}
	return now.Sub(m.looked) + slack
}

// idle is how long the queue has been claimable without a claim, as of this observation.
func (m *Monitor) idle(now time.Time, o journal.Observation) time.Duration {
	s := m.states[o.Queue]
	if o.LastClaim > s.lastClaim || !o.Claimable() {
		s = state{lastClaim: max(s.lastClaim, o.LastClaim)}
	}
	if o.Claimable() && s.since.IsZero() {
		s.since = now
	}
	m.states[o.Queue] = s
	if s.since.IsZero() {
		return 0
	}
	return now.Sub(s.since)
}

func attributes(s Stall) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("queue", s.Observation.Queue), slog.Int64("backlog", s.Observation.Backlog),
		slog.Int64("since_last_claim_ms", s.Idle.Milliseconds()),
	}
	if s.Observation.Capacity != nil {
		attrs = append(attrs, slog.Int64("capacity", *s.Observation.Capacity))
	}
	return attrs
}
