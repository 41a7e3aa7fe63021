package provider

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Faults makes the provider misbehave on purpose. The zero value does nothing.
// All of them apply to POST /v1/summaries only.
type Faults struct {
	// Delay passes between the execution and the answer, so a caller that gives
	// up earlier has caused an effect whose outcome it does not know (F7).
	Delay time.Duration
	// FailFirst is the number of first requests that are answered with 503 and
	// execute nothing.
	FailFirst int
	// DropFirst is the number of first executed requests whose connection is cut
	// without an answer.
	DropFirst int
	// Nonsense answers every executed request with 200 and a body that keeps
	// nothing of the contract.
	Nonsense bool
}

// Validate returns an error that names every negative value.
func (f Faults) Validate() error {
	var faults []error
	if f.Delay < 0 {
		faults = append(faults, errors.New("delay is negative"))
	}
	if f.FailFirst < 0 {
		faults = append(faults, errors.New("fail-first is negative"))
	}
	if f.DropFirst < 0 {
		faults = append(faults, errors.New("drop-first is negative"))
	}
	return errors.Join(faults...)
}

// faultPlan is Faults with what is left of the counted ones.
type faultPlan struct {
	Faults
	failLeft atomic.Int64
	dropLeft atomic.Int64
}

func newFaultPlan(faults Faults) *faultPlan {
	plan := &faultPlan{Faults: faults}
	plan.failLeft.Store(int64(faults.FailFirst))
	plan.dropLeft.Store(int64(faults.DropFirst))
	return plan
}

func (p *faultPlan) fail() bool { return p.failLeft.Add(-1) >= 0 }
func (p *faultPlan) drop() bool { return p.dropLeft.Add(-1) >= 0 }

// wait passes the delay, or returns early when the caller is gone.
func (p *faultPlan) wait(ctx context.Context) {
	if p.Delay == 0 {
		return
	}
	timer := time.NewTimer(p.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

const nonsenseBody = "<html><body>It works!</body></html>\n"
