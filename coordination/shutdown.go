package coordination

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/kesita/platform/coordination/signal"
)

// Shutdown stops the worker within one wall-clock budget, Timing.Shutdown or less if ctx ends earlier (H1, H2). Running
// workflows stay pending for a peer. The lease is released only when the SDK reported a clean stop and the watchdog
// had given no verdict; otherwise it is left to expire and the error is ErrNotClean.
func (r *Runtime) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timing.Shutdown)
	defer cancel()
	r.log.Info(ctx, signal.Shutdown, signal.Requested, slog.Int("active_workflows", len(r.host.Active())))
	r.lease.Stop() // no renewals during the bounded stop (H2)
	stopped := make(chan error, 1)
	go func() { stopped <- r.stopWork() }()
	var err error
	select {
	case err = <-stopped:
	case <-ctx.Done():
		err = fmt.Errorf("stage %s: %w", "sdk", context.Cause(ctx))
	}
	if err != nil || r.condemned() {
		r.abandon(err)
		if err == nil {
			return fmt.Errorf("%w: %s", ErrNotClean, r.dog.Reason())
		}
		return fmt.Errorf("%w: %w", ErrNotClean, err)
	}
	return r.release(ctx)
}

// stopWork ends everything that writes. The SDK takes its timeout once a stage; the caller bounds the whole.
func (r *Runtime) stopWork() error {
	r.services.Stop()
	if err := dbos.Shutdown(r.sdk, r.config.Timing.Shutdown); err != nil {
		return fmt.Errorf("stop sdk: %w", err)
	}
	for _, pool := range r.pools {
		pool.Close()
	}
	return nil
}

func (r *Runtime) condemned() bool {
	select {
	case <-r.dog.Verdict():
		return true
	default:
		return false
	}
}

func (r *Runtime) abandon(err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Timing.LeaseCheck)
	defer cancel()
	r.lease.Abandon(ctx)
	reason, attrs := signal.Abandoned, []slog.Attr{}
	if err != nil {
		reason, attrs = signal.StageTimedOut, append(attrs, signal.Fault(err))
	}
	r.log.Warn(ctx, signal.Shutdown, reason, attrs...)
	r.dog.Stop()
}

func (r *Runtime) release(ctx context.Context) error {
	defer r.control.Close()
	defer r.dog.Stop()
	if err := r.journal.RemoveProbe(ctx); err != nil {
		r.log.Warn(ctx, signal.Shutdown, signal.ProbeFailed, signal.Fault(err)) // a peer's scan removes it
	}
	held, err := r.lease.Release(ctx)
	if err != nil {
		r.lease.Abandon(ctx)
		return fmt.Errorf("%w: %w", ErrNotClean, err)
	}
	r.log.Info(ctx, signal.Shutdown, signal.Released, slog.Bool("held", held))
	return nil
}

// discard ends a start that failed half-way. Nothing ran, so the lease may be given back at once.
func (r *Runtime) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.Timing.LeaseCheck)
	defer cancel()
	r.services.Stop()
	if r.sdk != nil {
		_ = dbos.Shutdown(r.sdk, r.config.Timing.LeaseCheck) // the start failed already; its error is the one to tell
	}
	if r.lease != nil {
		if _, err := r.lease.Release(ctx); err != nil {
			r.log.Warn(ctx, signal.Startup, signal.Abandoned, signal.Fault(err))
		}
	}
	if r.control != nil {
		closed := make(chan struct{})
		go func() { r.control.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(r.config.Timing.LeaseCheck):
		}
	}
	r.dog.Stop()
}

// Discard ends a runtime that was opened but could not be launched.
func (r *Runtime) Discard(ctx context.Context) {
	for _, pool := range r.pools {
		pool.Close()
	}
	r.discard(ctx)
}
