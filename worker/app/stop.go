package app

import (
	"context"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/signal"
)

// serve waits for the end of a working worker and returns the exit status.
func (p *process) serve(ctx context.Context, w *Worker, siteFailed <-chan error) int {
	defer p.health.Stopping(ctx)
	select {
	case <-w.Runtime.Verdict():
		return p.abandon(ctx, w)
	case <-ctx.Done():
		return p.stop(ctx, w)
	case err := <-siteFailed:
		// Nobody can see this worker any more: a supervisor would take it for dead at some worse moment.
		p.log.Error(ctx, signal.Readiness, signal.HealthUnserved, signal.Fault(err))
		_ = p.stop(ctx, w)
		return boot.ExitInternal
	}
}

// stop ends the worker in an orderly way within one budget, all stages together (H1, H2).
func (p *process) stop(ctx context.Context, w *Worker) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.settings.Timing.Shutdown)
	defer cancel()
	p.health.Stopping(ctx)
	err := w.Runtime.Shutdown(ctx)
	select {
	case <-w.Runtime.Verdict():
		return boot.ExitRestart
	default:
	}
	if err != nil {
		return p.refuse("stop", err)
	}
	p.giveBack(ctx, w)
	return boot.ExitClean
}

// abandon follows the watchdog's verdict: whatever can end ends, the lease is left to expire, and a fresh process must
// take over. The watchdog ends the process itself if this takes longer than Timing.ForcedExit (D7).
func (p *process) abandon(ctx context.Context, w *Worker) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.settings.Timing.ForcedExit)
	defer cancel()
	p.health.Stopping(ctx)
	_ = w.Runtime.Shutdown(ctx) // it logs how far it came; the status does not depend on it
	return boot.ExitRestart
}

// giveBack waits for the service's own clean-up no longer than the budget of the stop.
func (p *process) giveBack(ctx context.Context, w *Worker) {
	done := make(chan struct{})
	go func() { w.giveBack(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		p.log.Warn(ctx, signal.Shutdown, signal.StageTimedOut)
	}
}
