package coordination

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/kesita/platform/coordination/signal"
)

// Shutdown stops the worker within one wall-clock budget, Timing.Shutdown or less if ctx ends earlier (H1, H2). Running
// workflows stay pending for a peer. The lease is released only when the SDK reported a clean stop and the watchdog
// had given no verdict; otherwise it is left to expire and the error is ErrNotClean.
func (r *Runtime) Shutdown(ctx context.Context) error {
	timing := r.config.Timing
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.Shutdown)
	defer cancel()
	ctx, cancelWork := context.WithTimeout(ctx, timing.Shutdown-timing.LeaseCheck) // the rest is for the lease
	defer cancelWork()
	r.log.Info(ctx, signal.Shutdown, signal.Requested, slog.Int("active_workflows", len(r.host.Active())))
	stopped := make(chan error, 1)
	go func() { stopped <- r.stopWork() }()
	var err error
	select {
	case err = <-stopped:
	case <-ctx.Done():
		err = fmt.Errorf("work did not stop: %w", context.Cause(ctx))
	}
	if err != nil || r.condemned() {
		r.abandon(err)
		if err == nil {
			return fmt.Errorf("%w: %s", ErrNotClean, r.dog.Reason())
		}
		return fmt.Errorf("%w: %w", ErrNotClean, err)
	}
	return r.release(whole)
}

// stopWork ends everything that writes. The SDK takes its timeout once a stage; the caller bounds the whole.
func (r *Runtime) stopWork() error {
	r.lease.Stop() // no renewals during the bounded stop (H2)
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

// abandon leaves the lease to expire. Work that did not stop gets no new connection; what it holds ends with the
// process.
func (r *Runtime) abandon(err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Timing.LeaseCheck)
	defer cancel()
	reason, attrs := signal.Abandoned, []slog.Attr{}
	if err != nil {
		reason, attrs = signal.StageTimedOut, append(attrs, signal.Fault(err))
	}
	r.log.Warn(ctx, signal.Shutdown, reason, attrs...)
	go r.closePools()
	r.lease.Abandon(ctx)
	r.dog.Stop()
}

func (r *Runtime) release(ctx context.Context) error {
	defer r.dog.Stop()
	defer r.closePools()
	if err := r.giveBack(ctx); err != nil {
		r.lease.Abandon(ctx)
		return fmt.Errorf("%w: %w", ErrNotClean, err)
	}
	return nil
}

// giveBack removes what only this executor uses and releases the lease.
func (r *Runtime) giveBack(ctx context.Context) error {
	if err := r.journal.RemoveProbe(ctx); err != nil {
		r.log.Warn(ctx, signal.Shutdown, signal.ProbeFailed, signal.Fault(err)) // a peer's scan removes it
	}
	held, err := r.lease.Release(ctx)
	if err != nil {
		return err
	}
	r.log.Info(ctx, signal.Shutdown, signal.Released, slog.Bool("held", held))
	return nil
}

// discard ends a start that failed half-way. Nothing ran, so the lease may be given back at once, unless the SDK did
// not stop (H2).
func (r *Runtime) discard(ctx context.Context) {
	defer r.dog.Stop()
	defer r.closePools()
	r.services.Stop()
	var err error
	if r.sdk != nil {
		err = dbos.Shutdown(r.sdk, r.config.Timing.LeaseCheck)
	}
	if r.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.Timing.Connect)
	defer cancel()
	if err == nil {
		err = r.giveBack(ctx)
	}
	if err != nil {
		r.lease.Abandon(ctx)
		r.log.Warn(ctx, signal.Startup, signal.Abandoned, signal.Fault(err))
	}
}

// closePools closes what is still open and waits for connections in use no longer than Timing.LeaseCheck.
func (r *Runtime) closePools() {
	var closing sync.WaitGroup
	for _, pool := range r.pools {
		closing.Go(pool.Close)
	}
	if r.control != nil {
		closing.Go(r.control.Close)
	}
	closed := make(chan struct{})
	go func() { closing.Wait(); close(closed) }()
	limit := time.NewTimer(r.config.Timing.LeaseCheck)
	defer limit.Stop()
	select {
	case <-closed:
	case <-limit.C:
	}
}

// Discard ends a runtime that was opened but could not be launched.
func (r *Runtime) Discard(ctx context.Context) { r.discard(ctx) }
