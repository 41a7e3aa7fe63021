// Package stray owns the claims that this process cannot account for: workflows that are pending in its name while no
// goroutine of it runs them (X2). A failed read after the claim, a lost outcome write or an unknown workflow name leave
// such rows; under a living owner nobody else would ever look at them.
//
// The journal says what is claimed, the workflow host says what runs. A claim counts as stray when Looks looks in a row
// find it so: one on its way from the database to its goroutine is not, nor one whose outcome is being written, however
// long the process was frozen in between. The package never ends the process; it puts the claim back where its counter
// and its slot are right again, and one failure to do so delays no other.
package stray

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

// Looks is how many looks in a row must find a claim that nobody runs. The first and the last are Timing.Stray apart.
const Looks = 4

// Journal is what a finder asks of the journal.
type Journal interface {
	OwnClaims(ctx context.Context) ([]journal.Claim, error)
	ReturnClaim(ctx context.Context, c journal.Claim, how journal.Return) (journal.Returned, error)
}

// Host is what a finder asks of the workflow host.
type Host interface {
	// Active are the workflows that run now, with the time each was entered.
	Active() map[string]time.Time
	// RanSince reports whether the workflow runs, or was left after that time.
	RanSince(workflowID string, since time.Time) bool
	// Knows reports whether a claimed workflow of this name can be run.
	Knows(name, configName string) bool
}

// Config is what a finder needs.
type Config struct {
	Journal Journal
	Host    Host
	Timing  timing.Timing
	Log     *signal.Log
}

// Finder looks every Timing.Stray / (Looks - 1). Make it with New.
type Finder struct {
	config Config
	loop   *service.Loop
	// suspects are the claims that the previous looks could not account for.
	suspects map[string]suspect
}

// suspect is one claim and how many looks in a row found nobody running it.
type suspect struct {
	claim int64
	looks int
}

// New returns a finder that is not running yet.
func New(config Config) *Finder {
	f := &Finder{config: config, suspects: map[string]suspect{}}
	period := config.Timing.Stray / (Looks - 1)
	f.loop = service.NewLoop(service.Every(period), func(ctx context.Context) { _, _ = f.RunOnce(ctx) })
	return f
}

// Start implements service.Service.
func (f *Finder) Start(ctx context.Context) { f.loop.Start(ctx) }

// Stop implements service.Service.
func (f *Finder) Stop() { f.loop.Stop() }

// Result is what one look did.
type Result struct {
	Returned, Parked, Quarantined, Failed int
}

// RunOnce looks once and puts back what is stray. Its error is that of the look: then the count of every claim begins
// again. A claim that could not be put back is logged and counted, and tried again at the next look.
func (f *Finder) RunOnce(ctx context.Context) (result Result, err error) {
	began := time.Now() // before the database computes ages: a claim is taken for older rather than younger
	claims, err := f.config.Journal.OwnClaims(ctx)
	if err != nil {
		f.suspects = map[string]suspect{}
		if ctx.Err() == nil {
			f.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, signal.Fault(err))
		}
		return result, err
	}
	active := f.config.Host.Active()
	seen := map[string]suspect{}
	for _, c := range claims {
		if _, runs := active[c.WorkflowID]; runs {
			continue
		}
		s := suspect{claim: c.Number, looks: 1}
		if last := f.suspects[c.WorkflowID]; last.claim == c.Number {
			s.looks += last.looks
		}
		if s.looks >= Looks && f.putBack(ctx, c, f.config.Host.RanSince(c.WorkflowID, began.Add(-c.Age)), &result) {
			continue
		}
		seen[c.WorkflowID] = s
	}
	f.suspects = seen
	return result, nil
}

// putBack: a claim that was never entered here did not run, so it is taken back; one that was entered and is not
// running any more lost its outcome, and counts.
func (f *Finder) putBack(ctx context.Context, c journal.Claim, ran bool, result *Result) (done bool) {
	known := f.config.Host.Knows(c.WorkflowName, c.ConfigName)
	returned, err := f.config.Journal.ReturnClaim(ctx, c, journal.Return{Refund: !ran, Park: !known})
	attrs := []slog.Attr{
		slog.String("workflow_id", c.WorkflowID), slog.String("workflow_name", c.WorkflowName),
		slog.Int64("claimed_ms_ago", c.Age.Milliseconds()),
	}
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case err != nil:
		result.Failed++
		f.config.Log.Warn(ctx, signal.Coordination, signal.ObservationFailed, append(attrs, signal.Fault(err))...)
		return false
	case returned == journal.MovedOn:
		return true
	case returned == journal.Parked:
		result.Parked++
		f.config.Log.Error(ctx, signal.Stray, signal.UnknownWorkflow, attrs...)
		return true
	case returned == journal.OutOfAttempts:
		result.Quarantined++
	default:
		result.Returned++
	}
	reason := signal.NeverStarted
	if ran {
		reason = signal.OutcomeLost
	}
	f.config.Log.Warn(ctx, signal.Stray, reason, append(attrs, slog.String("action", string(returned)))...)
	return true
}
