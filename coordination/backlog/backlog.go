// Package backlog owns the business queue monitor: it notices that a queue has work that could be claimed and room
// for it, and that nobody claims (D5).
//
// The journal is authoritative for backlog, capacity and claims; the time without a claim is counted here, on the
// monotonic clock, and only while the queue could have been served. Capacity taken, a rate limit, a delay or a
// foreign version are not stalls. Blind spot, by design: a replica that stalled while its peers keep the queue moving
// (D12). The answer to a stall is the process's end: a fresh one listens again.
package backlog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Config is what a monitor needs.
type Config struct {
	// Observe looks at the queues.
	Observe func(ctx context.Context, queues []string) ([]journal.Observation, error)
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
	states map[string]state
}

type state struct {
	// since is when the queue last claimed something, or last could not have; zero while it is not claimable.
	since     time.Time
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

// RunOnce makes one observation and returns the queues that stall. The first of them ends the process.
func (m *Monitor) RunOnce(ctx context.Context) ([]Stall, error) {
	observations, err := m.config.Observe(ctx, m.config.Queues)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			m.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, signal.Fault(err))
		}
		return nil, err
	}
	var stalls []Stall
	for _, o := range observations {
		if idle := m.idle(o); idle > m.config.Timing.BacklogStall(o.Poll) {
			stalls = append(stalls, Stall{o, idle})
		}
	}
	for _, s := range stalls {
		m.config.Trip(signal.QueueStalled, attributes(s)...)
	}
	return stalls, nil
}

// idle is how long the queue has been claimable without a claim, as of this observation.
func (m *Monitor) idle(o journal.Observation) time.Duration {
	now := time.Now()
	s := m.states[o.Queue]
	claimed := o.LastClaim > s.lastClaim
	s.lastClaim = max(s.lastClaim, o.LastClaim) // a high-water mark: recovery and deletion take rows away
	if claimed || !o.Claimable() {
		s.since = time.Time{}
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
