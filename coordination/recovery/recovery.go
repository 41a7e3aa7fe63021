// Package recovery owns the scan for lost peers: it finds executors whose lease ended and has the journal move their
// work, one transaction each.
//
// The database is authoritative: it decides who is expired, revokes and re-enqueues in one commit, so a scanner that
// dies here leaves nothing half done (T2). There is no leader; scanners skip what another holds (T1). The package
// knows neither tables nor workflows. A failing recovery of one executor delays no other and is tried again (K6).
package recovery

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Limit is the most executors that one scan looks at (D3).
const Limit = 100

// Journal is what a scan asks of the journal.
type Journal interface {
	Candidates(ctx context.Context, limit int, deferred []uuid.UUID) ([]journal.Candidate, error)
	Recover(ctx context.Context, lost uuid.UUID) (journal.Recovery, error)
	Locked(ctx context.Context) ([]uuid.UUID, error)
	ReleaseSuspect(ctx context.Context, probation time.Duration) (workflowID string, err error)
}

// Config is what a scanner needs.
type Config struct {
	Journal Journal
	Timing  timing.Timing
	Log     *signal.Log
	// EndSessions ends the sessions of an executor that is not valid any more (K4).
	EndSessions func(ctx context.Context, executor uuid.UUID) (int, error)
	// Scanned is told when a scan that succeeded began.
	Scanned func(began time.Time)
}

// Scanner looks for lost peers every Timing.Scan. Make it with New.
type Scanner struct {
	config Config
	loop   *service.Loop
	// deferred are executors whose recovery failed, in the order of their last failure.
	deferred []uuid.UUID
	// blocked is since when an expired executor's row has been held by a transaction, as far as this scanner saw.
	blocked map[uuid.UUID]time.Time
}

// New returns a scanner that is not running yet.
func New(config Config) *Scanner {
	s := &Scanner{config: config, blocked: map[uuid.UUID]time.Time{}}
	s.loop = service.NewLoop(service.Every(config.Timing.Scan), func(ctx context.Context) { _, _ = s.RunOnce(ctx) })
	return s
}

// Start implements service.Service.
func (s *Scanner) Start(ctx context.Context) { s.loop.Start(ctx) }

// Stop implements service.Service.
func (s *Scanner) Stop() { s.loop.Stop() }

// Result is what one scan did. Left counts candidates that the scan had no time for.
type Result struct {
	Executors, Reenqueued, Held, Released, Quarantined, Failed, Left, Blocked, SessionsEnded int
}

// RunOnce makes one scan. Its error is that of the scan itself, or fault.Fenced when this scanner's own lease is over; a
// single executor's failure is counted and logged. A scan that took Timing.Scan leaves the rest, all but one, to the next one:
// recoveries that wait for locks must not look like a stalled scanner (D6, K6).
func (s *Scanner) RunOnce(ctx context.Context) (Result, error) {
	began := time.Now()
	var result Result
	candidates, err := s.config.Journal.Candidates(ctx, Limit, s.deferred)
	if err != nil {
		return result, s.failed(ctx, err)
	}
	s.forget(candidates)
	for i, c := range candidates {
		if i > 0 && time.Since(began) > s.config.Timing.Scan {
			result.Left = len(candidates) - i
			break
		}
		if err := s.recover(ctx, c, &result); err != nil {
			return result, err
		}
	}
	if err := s.release(ctx, &result); err != nil {
		return result, s.failed(ctx, err)
	}
	if err := s.unblock(ctx, &result); err != nil {
		return result, s.failed(ctx, err)
	}
	s.config.Scanned(began)
	return result, nil
}

func (s *Scanner) failed(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		s.config.Log.Warn(ctx, signal.Recovery, signal.ScanFailed, signal.Fault(err))
	}
	return err
}

// recover returns an error only when the scan is over: this scanner lost its own lease, or was told to stop.
func (s *Scanner) recover(ctx context.Context, c journal.Candidate, result *Result) error {
	r, err := s.config.Journal.Recover(ctx, c.ExecutorID)
	lost := slog.String("lost_executor_id", c.ExecutorID.String())
	switch {
	case err != nil && (ctx.Err() != nil || fault.Of(err) == fault.Fenced):
		return s.failed(ctx, err)
	case err != nil:
		s.config.Log.Warn(ctx, signal.Recovery, signal.ScanFailed, lost, signal.Fault(err))
		s.deferToTheEnd(c.ExecutorID)
		result.Failed++
		return nil
	case !r.Recovered():
		return nil
	}
	result.Executors++
	result.Reenqueued += r.Reenqueued
	result.Held += r.Held
	result.Quarantined += len(r.Quarantined)
	s.config.Log.Info(ctx, signal.Recovery, reason(r.Cause), lost, slog.Int("reenqueued", r.Reenqueued), slog.Int("held", r.Held),
		slog.Int("quarantined", len(r.Quarantined)), slog.Int("probes_removed", r.ProbesRemoved))
	for _, id := range r.LastChance {
		s.config.Log.Warn(ctx, signal.RecoveryWarning, signal.LastChance, lost, slog.String("workflow_id", id))
	}
	return nil
}

// release lets one workflow that lost two workers go, when it is its turn (X3).
func (s *Scanner) release(ctx context.Context, result *Result) error {
	id, err := s.config.Journal.ReleaseSuspect(ctx, s.config.Timing.Probation)
	if err != nil || id == "" {
		return err
	}
	result.Released++
	s.config.Log.Info(ctx, signal.Recovery, signal.SuspectReleased, slog.String("workflow_id", id))
	return nil
}

// deferToTheEnd makes an executor the last that is tried again. The memory is bounded: who failed longest ago is
// forgotten first, and so tried first.
func (s *Scanner) deferToTheEnd(id uuid.UUID) {
	s.deferred = slices.DeleteFunc(s.deferred, func(d uuid.UUID) bool { return d == id })
	s.deferred = append(s.deferred, id)
	s.deferred = s.deferred[max(0, len(s.deferred)-10*Limit):]
}

// forget drops deferred executors that wait no longer. Only a list that is not full shows who that is.
func (s *Scanner) forget(candidates []journal.Candidate) {
	if len(candidates) >= Limit {
		return
	}
	s.deferred = slices.DeleteFunc(s.deferred, func(d uuid.UUID) bool {
		return !slices.ContainsFunc(candidates, func(c journal.Candidate) bool { return c.ExecutorID == d })
	})
}

// unblock ends the sessions of executors that expired but whose lease row a frozen transaction still holds, once
// that took longer than any guarded transaction may (K4).
func (s *Scanner) unblock(ctx context.Context, result *Result) error {
	locked, err := s.config.Journal.Locked(ctx)
	if err != nil {
		return err
	}
	seen := make(map[uuid.UUID]time.Time, len(locked))
	for _, id := range locked {
		since, known := s.blocked[id]
		if !known {
			since = time.Now()
		}
		seen[id] = since
		result.Blocked++
		if time.Since(since) <= s.config.Timing.Transaction {
			continue
		}
		ended, err := s.config.EndSessions(ctx, id)
		attrs := []slog.Attr{slog.String("lost_executor_id", id.String()), slog.Int("sessions_ended", ended)}
		if err != nil {
			attrs = append(attrs, signal.Fault(err))
		}
		s.config.Log.Warn(ctx, signal.Recovery, signal.PeerBlocked, attrs...)
		result.SessionsEnded += ended
	}
	s.blocked = seen
	return nil
}

func reason(cause string) signal.Reason {
	switch cause {
	case "released":
		return signal.PeerReleased
	case "revoked":
		return signal.PeerRevoked
	default:
		return signal.PeerExpired
	}
}
