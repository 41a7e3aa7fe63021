// Package stray owns the claims that this process cannot account for: workflows that are pending in its name while no
// goroutine of it runs them (X2). A failed read after the claim, a lost outcome write or an unknown workflow name leave
// such rows; under a living owner nobody else would ever look at them.
//
// The journal says what is claimed, the workflow host says what runs. A claim counts as stray when two looks in a row
// find it so and it is older than Timing.Stray: a claim on its way from the database to its goroutine is not. The
// package never ends the process; it puts the claim back where its counter and its slot are right again.
package stray

import (
	"context"
	"log/slog"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Journal is what a finder asks of the journal.
type Journal interface {
	OwnClaims(ctx context.Context) ([]journal.Claim, error)
	ReturnClaim(ctx context.Context, c journal.Claim, how journal.Return) (moved bool, err error)
}

// Host is what a finder asks of the workflow host.
type Host interface {
	// Active are the workflows that run now, with the time each was entered.
	Active() map[string]time.Time
	// Entered reports whether the workflow was ever entered in this process.
	Entered(workflowID string) bool
	// Names are the registered workflow names.
	Names() map[string]bool
}

// Config is what a finder needs.
type Config struct {
	Journal Journal
	Host    Host
	Timing  timing.Timing
	Log     *signal.Log
}

// Finder looks every Timing.Stray / 2. Make it with New.
type Finder struct {
	config Config
	loop   *service.Loop
	// suspects are the claims that the previous look could not account for.
	suspects map[string]int64
}

// New returns a finder that is not running yet.
func New(config Config) *Finder {
	f := &Finder{config: config, suspects: map[string]int64{}}
	f.loop = service.NewLoop(service.Every(config.Timing.Stray/2), func(ctx context.Context) { _, _ = f.RunOnce(ctx) })
	return f
}

// Start implements service.Service.
func (f *Finder) Start(ctx context.Context) { f.loop.Start(ctx) }

// Stop implements service.Service.
func (f *Finder) Stop() { f.loop.Stop() }

// Result is what one look did.
type Result struct {
	Returned, Parked int
}

// RunOnce looks once and puts back what is stray.
func (f *Finder) RunOnce(ctx context.Context) (result Result, err error) {
	claims, err := f.config.Journal.OwnClaims(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, signal.Fault(err))
		}
		return result, err
	}
	active, names := f.config.Host.Active(), f.config.Host.Names()
	seen := map[string]int64{}
	for _, c := range claims {
		if _, runs := active[c.WorkflowID]; runs {
			continue
		}
		seen[c.WorkflowID] = c.Number
		if c.Age < f.config.Timing.Stray || f.suspects[c.WorkflowID] != c.Number {
			continue
		}
		if err := f.putBack(ctx, c, names, &result); err != nil {
			return result, err
		}
	}
	f.suspects = seen
	return result, nil
}

// putBack: a claim that was never entered here did not run, so it is taken back; one that was entered and is not
// running any more lost its outcome, and counts.
func (f *Finder) putBack(ctx context.Context, c journal.Claim, names map[string]bool, result *Result) error {
	entered, known := f.config.Host.Entered(c.WorkflowID), names[c.WorkflowName]
	moved, err := f.config.Journal.ReturnClaim(ctx, c, journal.Return{Refund: !entered, Park: !known})
	attrs := []slog.Attr{slog.String("workflow_id", c.WorkflowID), slog.String("workflow_name", c.WorkflowName), slog.Int64("claimed_ms_ago", c.Age.Milliseconds())}
	switch {
	case err != nil:
		f.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, append(attrs, signal.Fault(err))...)
		return err
	case !moved:
	case !known:
		result.Parked++
		f.config.Log.Error(ctx, signal.Stray, signal.UnknownWorkflow, attrs...)
	case entered:
		result.Returned++
		f.config.Log.Warn(ctx, signal.Stray, signal.OutcomeLost, attrs...)
	default:
		result.Returned++
		f.config.Log.Warn(ctx, signal.Stray, signal.NeverStarted, attrs...)
	}
	return nil
}
