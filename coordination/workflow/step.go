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

// StepOption changes how one step runs.
type StepOption func(*step)

// Settle gives the step the settle budget, Timing.StepSettle: for the short write that ends a job (D8).
func Settle() StepOption { return func(s *step) { s.budget = s.host.config.Timing.StepSettle } }

// step is one step of one workflow.
type step struct {
	host       *Host
	workflowID string
	name       string
	budget     time.Duration
}

// RunStep runs fn as one durable step: its result is checkpointed, and a recovered workflow gets the recorded result
// instead of a second run. fn may still run twice when a worker dies before the checkpoint, so its effects must be
// idempotent or fenced.
//
// Before every run of fn the database confirms the lease (K5). The budget is Timing.StepExecute unless an option says
// otherwise; it bounds all tries together, and when it is used up the error is ErrStepBudget (D8). An error of fn is a
// business error: it is checkpointed and returned as a *Failure. Errors of the platform are never returned: fn is run
// again after a pause when they can heal, and when they cannot the process ends and a peer goes on.
func RunStep[R any](ctx Context, name string, fn func(ctx context.Context) (R, error), options ...StepOption) (R, error) {
	h := hostOf(ctx)
	id, _ := dbos.GetWorkflowID(ctx) // outside a workflow the SDK refuses the step itself
	s := &step{host: h, workflowID: id, name: name, budget: h.config.Timing.StepExecute}
	for _, option := range options {
		option(s)
	}
	var business *Failure
	out, err := dbos.RunAsStep(ctx, func(stepCtx context.Context) (R, error) {
		out, err := execute(stepCtx, s, fn)
		if err != nil {
			business = failure(err)
			return out, business
		}
		return out, nil
	}, dbos.WithStepName(name))
	if err == nil || ctx.Err() != nil || (business != nil && errors.Is(err, business)) || !ofPlatform(err) {
		return out, err
	}
	var none R
	return none, h.park(ctx, signal.CheckpointFailed, s.attrs(err)...)
}

// execute runs fn until it has a business outcome, the budget is used up, or the workflow's context ends.
func execute[R any](ctx context.Context, s *step, fn func(context.Context) (R, error)) (R, error) {
	var none R
	var last error // what the body failed with before, for the record
	timing := s.host.config.Timing
	limited, cancel := context.WithTimeoutCause(ctx, s.budget, ErrStepBudget)
	defer cancel()
	for wait := timing.StepRetryFirst; ; wait = min(2*wait, timing.StepRetryCap) {
		if err := s.awaitLease(ctx, limited); err != nil {
			return none, s.over(ctx, errors.Join(last, err))
		}
		out, err := call(ctx, limited, s, fn)
		switch {
		case err == nil || ctx.Err() != nil:
			return out, err
		case limited.Err() != nil:
			return none, s.over(ctx, errors.Join(last, err))
		case fault.Of(err) == fault.Fenced:
			return none, s.host.park(ctx, signal.FenceRefused, s.attrs(err)...)
		case !fault.Heals(err):
			return out, err
		}
		s.host.config.Log.Warn(ctx, signal.Workflow, signal.Infrastructure, s.attrs(err)...)
		if last = err; pause(limited, wait) != nil {
			return none, s.over(ctx, last)
		}
	}
}

// awaitLease returns nil when the database confirmed the lease. While nobody can tell it refuses and asks again,
// until the lease is confirmed, lost, or the time is up; none of it reaches the workflow as an error of its own (K5).
func (s *step) awaitLease(ctx, limited context.Context) error {
	for told := false; ; told = true {
		_, err := s.host.config.CheckLease(limited)
		switch {
		case err == nil:
			return nil
		case limited.Err() != nil:
			return limited.Err()
		case fault.Of(err) == fault.Fenced:
			return s.host.park(ctx, signal.LeaseLost, s.attrs(err)...)
		case !told:
			s.host.config.Log.Warn(ctx, signal.Workflow, signal.Infrastructure, s.attrs(err)...)
		}
		if err := pause(limited, s.host.config.Timing.LeaseCheckRetry); err != nil {
			return err
		}
	}
}

// over is the error of a step whose time is up: the workflow's own end when that came first, else ErrStepBudget with
// what the step was busy with.
func (s *step) over(ctx context.Context, last error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("step %s: %w of %s: %w", s.name, ErrStepBudget, s.budget, last)
}

func (s *step) attrs(err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("workflow_id", s.workflowID), slog.String("step", s.name)}
	if err != nil {
		attrs = append(attrs, signal.Fault(err))
	}
	return attrs
}

type result[R any] struct {
	out R
	err error
}

// call runs fn in a goroutine of its own, so that one that ignores its cancellation can be left behind: it gets
// StepCooperate, then the process ends. It must not return in that case: the SDK would checkpoint a timeout for
// work that still runs (D9).
func call[R any](ctx, limited context.Context, s *step, fn func(context.Context) (R, error)) (R, error) {
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
	timer := time.NewTimer(s.host.config.Timing.StepCooperate)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.out, r.err
	case <-timer.C:
	}
	var none R
	if ctx.Err() == nil {
		return none, s.host.park(ctx, signal.StepOverBudget, s.attrs(nil)...)
	}
	// The workflow itself ended; the SDK discards the step and nothing is checkpointed. Wait for the body, so that
	// a stop which is not clean is not reported as clean.
	r := <-done
	return r.out, r.err
}
