package workflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/signal"
)

// ErrStepBudget is a step's durable outcome when it used up its budget and did stop when told (D8).
var ErrStepBudget = errors.New("step used up its budget")

// StepOption changes how one step runs.
type StepOption func(*stepConfig)

type stepConfig struct {
	budget time.Duration
}

// Settle gives the step the settle budget, Timing.StepSettle: for the short write that ends a job (D8).
func Settle() StepOption { return func(c *stepConfig) { c.budget = 0 } }

// Budget gives the step less than Timing.StepExecute; more is cut to it.
func Budget(d time.Duration) StepOption {
	return func(c *stepConfig) { c.budget = min(c.budget, d) }
}

// RunStep runs fn as one durable step: its result is checkpointed, and a recovered workflow gets the recorded result
// instead of a second run. fn may still run twice when a worker dies before the checkpoint, so its effects must be
// idempotent or fenced.
//
// Before every run of fn the database confirms the lease (K5). The budget is Timing.StepExecute unless an option says
// otherwise; it bounds all tries together. Errors of fn are business errors and are checkpointed, except
// errors of the platform: fn is run again after a pause when they can heal, and when the lease is gone the process
// ends. Such an error is never returned.
func RunStep[R any](ctx Context, name string, fn func(ctx context.Context) (R, error), options ...StepOption) (R, error) {
	h := hostOf(ctx)
	config := stepConfig{budget: h.config.Timing.StepExecute}
	for _, option := range options {
		option(&config)
	}
	if config.budget <= 0 {
		config.budget = h.config.Timing.StepSettle
	}
	var business error
	out, err := dbos.RunAsStep(ctx, func(stepCtx context.Context) (R, error) {
		var out R
		out, business = execute(stepCtx, h, name, config.budget, fn)
		return out, business
	}, dbos.WithStepName(name))
	if err == nil || ctx.Err() != nil || (business != nil && errors.Is(err, business)) {
		return out, err
	}
	if ofPlatform(err) {
		var none R
		return none, h.park(ctx, signal.CheckpointFailed, slog.String("step", name), signal.Fault(err))
	}
	return out, err
}

// execute runs fn until it has a business outcome, the budget is used up, or the workflow's context ends.
func execute[R any](ctx context.Context, h *Host, name string, budget time.Duration, fn func(context.Context) (R, error)) (R, error) {
	var none R
	limited, cancel := context.WithTimeoutCause(ctx, budget, ErrStepBudget)
	defer cancel()
	wait := h.config.Timing.StepRetryFirst
	for {
		if err := h.awaitLease(limited); err != nil {
			return none, over(ctx, limited, name, err)
		}
		out, err := call(ctx, limited, h, name, fn)
		switch {
		case err == nil || ctx.Err() != nil:
			return out, err
		case limited.Err() != nil:
			return none, over(ctx, limited, name, err)
		case fault.Of(err) == fault.Fenced:
			return none, h.park(ctx, signal.FenceRefused, slog.String("step", name), signal.Fault(err))
		case !fault.Heals(err):
			return out, err
		}
		h.config.Log.Warn(ctx, signal.Workflow, signal.Infrastructure, slog.String("step", name), signal.Fault(err))
		if err := pause(limited, wait); err != nil {
			return none, over(ctx, limited, name, err)
		}
		wait = min(2*wait, h.config.Timing.StepRetryCap)
	}
}

// over is the error of a step whose time is up: the workflow's own end when that came first, else ErrStepBudget.
func over(ctx, limited context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(limited), ErrStepBudget) {
		return fmt.Errorf("step %s: %w", name, ErrStepBudget)
	}
	return err
}

type result[R any] struct {
	out R
	err error
}

// call runs fn in a goroutine of its own, so that one that ignores its cancellation can be left behind: it gets
// StepCooperate, then the process ends. It must not return in that case: the SDK would checkpoint a timeout for
// work that still runs (D9).
func call[R any](ctx, limited context.Context, h *Host, name string, fn func(context.Context) (R, error)) (R, error) {
	done := make(chan result[R], 1)
	go func() {
		out, err := fn(limited)
		done <- result[R]{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-limited.Done():
	}
	timer := time.NewTimer(h.config.Timing.StepCooperate)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.out, r.err
	case <-timer.C:
	}
	var none R
	if ctx.Err() == nil {
		return none, h.park(ctx, signal.StepOverBudget, slog.String("step", name))
	}
	// The workflow itself ended; the SDK discards the step and nothing is checkpointed. Wait for the body, so that
	// a stop which is not clean is not reported as clean.
	r := <-done
	return r.out, r.err
}
