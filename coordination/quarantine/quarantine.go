// Package quarantine owns what a worker does about workflows that lost their last allowed worker: it signals each of
// them once and has the service settle its business state, without executing the workflow again (P2, P3).
//
// The quarantine table is authoritative; rows leave it by an operator's decision only. The package knows no business:
// a service's hook settles. A settlement that fails is signalled and tried again with growing pauses, for ever.
package quarantine

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

// Hook settles the business state of one workflow as failed. It must be idempotent, and nil also means that there is
// nothing to settle. The name is the one that the workflow was registered under. It has half of
// Timing.IdleInTransaction: one short write. While one that ignored its cancellation still runs, this process settles
// nothing else.
type Hook func(ctx context.Context, workflowID, name string) error

// Decisions about a hook that gave no answer of its own.
var (
	// ErrHookPanicked says that the hook panicked. It does not repeat the value, which may hold data.
	ErrHookPanicked = errors.New("settlement hook panicked")
	// ErrHookSlow says that the hook did not return in its time.
	ErrHookSlow = errors.New("settlement hook took too long")
)

// Journal is what the quarantine asks of the journal.
type Journal interface {
	Adopt(ctx context.Context) (adopted int, err error)
	Signal(ctx context.Context, tell func(journal.Exhausted)) (signalled int, err error)
	Settle(ctx context.Context, settle func(ctx context.Context, workflowID, name string) error, retry func(failures int) time.Duration) (journal.Settlement, error)
}

// Config is what a Settler needs.
type Config struct {
	Journal Journal
	// Hook may be nil: workflows then stay unsettled and quarantined for an operator (P4).
	Hook   Hook
	Timing timing.Timing
	Log    *signal.Log
}

// Settler signals and settles every Timing.Scan. Make it with New.
type Settler struct {
	config Config
	loop   *service.Loop
	// left is where a hook that was left behind will report; nil when there is none.
	left <-chan error
}

// New returns a settler that is not running yet.
func New(config Config) *Settler {
	s := &Settler{config: config}
	s.loop = service.NewLoop(service.Every(config.Timing.Scan), func(ctx context.Context) { _, _ = s.RunOnce(ctx) })
	return s
}

// Start implements service.Service.
func (s *Settler) Start(ctx context.Context) { s.loop.Start(ctx) }

// Stop implements service.Service.
func (s *Settler) Stop() { s.loop.Stop() }

// Result is what one pass did.
type Result struct {
	Adopted, Signalled, Settled, Failed int
}

// RunOnce signals what is new and settles what is due, for no longer than Timing.Scan: what is newly quarantined must
// not wait behind many slow settlements to be signalled.
func (s *Settler) RunOnce(ctx context.Context) (result Result, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn(ctx, signal.Recovery, signal.ScanFailed, signal.Fault(err))
		}
	}()
	began := time.Now()
	if result.Adopted, err = s.config.Journal.Adopt(ctx); err != nil {
		return result, err
	}
	if result.Signalled, err = s.config.Journal.Signal(ctx, func(q journal.Exhausted) { s.tell(ctx, q) }); err != nil {
		return result, err
	}
	if s.config.Hook == nil || s.busy() {
		return result, nil
	}
	for {
		done, err := s.config.Journal.Settle(ctx, s.settle, s.pause)
		switch {
		case ctx.Err() != nil:
			return result, ctx.Err()
		case err != nil || !done.Due:
			return result, err
		case done.Failure != nil:
			result.Failed++
			s.config.Log.Error(ctx, signal.Settlement, signal.SettlementFailed, slog.String("workflow_id", done.WorkflowID), signal.Fault(done.Failure))
		default:
			result.Settled++
			s.config.Log.Info(ctx, signal.Recovery, signal.Settled, slog.String("workflow_id", done.WorkflowID))
		}
		if time.Since(began) > s.config.Timing.Scan || s.left != nil {
			return result, nil
		}
	}
}

// settle runs the hook in a goroutine of its own, so that one that does not hear its cancellation can be left behind:
// it must hold up neither the signals nor the stop of this process.
func (s *Settler) settle(ctx context.Context, workflowID, name string) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.config.Timing.IdleInTransaction/2, ErrHookSlow)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.call(limited, workflowID, name) }()
	select {
	case err := <-done:
		return err
	case <-limited.Done():
	}
	cooperate := time.NewTimer(s.config.Timing.StepCooperate)
	defer cooperate.Stop()
	select {
	case err := <-done:
		return errors.Join(context.Cause(limited), err)
	case <-cooperate.C:
		s.left = done
		return context.Cause(limited)
	}
}

// call: a panic must not end one worker after the other.
func (s *Settler) call(ctx context.Context, workflowID, name string) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrHookPanicked
		}
	}()
	return s.config.Hook(ctx, workflowID, name)
}

// busy reports whether a hook that was left behind still runs.
func (s *Settler) busy() bool {
	select {
	case <-s.left: //nolint:errcheck // closed when the hook returned; its error was told then
		s.left = nil
	default:
	}
	return s.left != nil
}

func (s *Settler) tell(ctx context.Context, q journal.Exhausted) {
	reason := signal.AttemptsExhausted
	if q.Reason == "claim_ceiling" {
		reason = signal.ClaimCeiling
	}
	s.config.Log.Error(ctx, signal.RecoveryExhausted, reason, slog.String("workflow_id", q.WorkflowID),
		slog.String("workflow_name", q.WorkflowName), slog.Int64("attempts", q.Attempts), slog.String("lost_executor_id", q.LostExecutor.String()))
}

// pause doubles from one scan period to the watchdog's.
func (s *Settler) pause(failures int) time.Duration {
	pause := s.config.Timing.Scan
	for range failures {
		pause = min(2*pause, s.config.Timing.Watchdog)
	}
	return pause
}
