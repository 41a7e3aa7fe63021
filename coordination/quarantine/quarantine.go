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
// nothing to settle. The name is the one that the workflow was registered under.
type Hook func(ctx context.Context, workflowID, name string) error

// Journal is what the quarantine asks of the journal.
type Journal interface {
	Adopt(ctx context.Context) (adopted int, err error)
	Signal(ctx context.Context, tell func(journal.Exhausted)) (signalled int, err error)
	Settle(ctx context.Context, settle func(ctx context.Context, workflowID, name string) error, retry func(failures int) time.Duration) (workflowID string, due bool, failure, err error)
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

// RunOnce signals what is new and settles everything that is due.
func (s *Settler) RunOnce(ctx context.Context) (result Result, err error) {
	defer func() {
		if err != nil && !errors.Is(err, context.Canceled) {
			s.config.Log.Warn(ctx, signal.Recovery, signal.ScanFailed, signal.Fault(err))
		}
	}()
	if result.Adopted, err = s.config.Journal.Adopt(ctx); err != nil {
		return result, err
	}
	if result.Signalled, err = s.config.Journal.Signal(ctx, func(q journal.Exhausted) { s.tell(ctx, q) }); err != nil {
		return result, err
	}
	if s.config.Hook == nil {
		return result, nil
	}
	for {
		id, due, failure, err := s.config.Journal.Settle(ctx, s.config.Hook, s.pause)
		switch {
		case err != nil || !due:
			return result, err
		case failure != nil:
			result.Failed++
			s.config.Log.Error(ctx, signal.Settlement, signal.SettlementFailed, slog.String("workflow_id", id), signal.Fault(failure))
		default:
			result.Settled++
			s.config.Log.Info(ctx, signal.Recovery, signal.Settled, slog.String("workflow_id", id))
		}
	}
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
