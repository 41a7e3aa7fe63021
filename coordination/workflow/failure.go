package workflow

import (
	"encoding/gob"
	"errors"
)

// ErrStepBudget is a step's durable outcome when it used up its budget and did stop when told (D8).
var ErrStepBudget = errors.New("step used up its budget")

// Failure is a business error as the journal keeps it: its text, and whether a budget ended it. RunStep returns it on
// the first run already, without the chain of the original error, because that chain is gone when a peer replays the
// step: a workflow that asked for it would take another way there. What a workflow decides on belongs in the step's
// result.
type Failure struct {
	Message string
	// OverBudget makes errors.Is(err, ErrStepBudget) true.
	OverBudget bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Is implements the interface of errors.Is.
func (f *Failure) Is(target error) bool { return f.OverBudget && target == ErrStepBudget }

func failure(err error) *Failure {
	return &Failure{Message: err.Error(), OverBudget: errors.Is(err, ErrStepBudget)}
}

// recordFailures lets the SDK write and read a Failure as what it is. It may be called again.
func recordFailures() { gob.Register(&Failure{}) }
