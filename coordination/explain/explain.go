// Package explain owns the answer to one question: why does this workflow not move, and what would move it (O4, X4)?
//
// The database is authoritative: the answer is made of what was read in one moment, and says nothing that was not read.
// What only a worker's memory knows is not guessed: an owner that is alive runs its workflow, because it would have put
// it back otherwise (X2). The package changes nothing, knows no business table and no payload. What it cannot read is
// an error of the database.
package explain

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/journal"
)

// Explanation is the answer.
type Explanation struct {
	WorkflowID string `json:"workflow_id"`
	// Cause is one of the closed list, Why the same in words.
	Cause Cause  `json:"cause"`
	Why   string `json:"why"`
	// Until is when the cause ends by itself, if that is known.
	Until *time.Time `json:"until,omitempty"`
	// Move says what would move the workflow, Command is the command line that does, when there is one.
	Move    string `json:"move"`
	Command string `json:"command,omitempty"`

	Name        string        `json:"name,omitempty"`
	Application string        `json:"application,omitempty"`
	Version     string        `json:"version,omitempty"`
	State       journal.State `json:"state,omitempty"`
	Queue       string        `json:"queue,omitempty"`
	Partition   string        `json:"partition,omitempty"`
	Priority    int           `json:"priority"`
	ParentID    string        `json:"parent_id,omitempty"`
	// ExecutorID is the last executor that claimed it, Lease what became of that: live, expired, released, revoked or
	// unregistered.
	ExecutorID string `json:"executor_id,omitempty"`
	Lease      string `json:"lease,omitempty"`
	// Attempts counts the claims, those that were taken back not included; MaxAttempts is what it gets in all (P1).
	Attempts    int64 `json:"attempts"`
	MaxAttempts int64 `json:"max_attempts"`
	TakenBack   int64 `json:"taken_back"`
	// Checkpoints counts the recorded steps, Steps are the last five of them.
	Checkpoints int    `json:"checkpoints"`
	Steps       []Step `json:"steps"`
	// SubmittedAt, ClaimedAt and the following are null where they do not apply.
	SubmittedAt *time.Time `json:"submitted_at"`
	ClaimedAt   *time.Time `json:"claimed_at"`
	FinishedAt  *time.Time `json:"finished_at"`
	Deadline    *time.Time `json:"deadline"`
	// Now is the database's clock at the moment of the look.
	Now time.Time `json:"now"`
	// Holders are who takes the places of its queue.
	Holders []journal.Holder `json:"holders,omitempty"`
	// Takeovers are what was done with it besides executing it, the newest first.
	Takeovers []journal.Takeover `json:"takeovers"`
}

// Step is one recorded step.
type Step struct {
	Number      int       `json:"number"`
	Name        string    `json:"name"`
	CompletedAt time.Time `json:"completed_at"`
}

// shownSteps is how many of the recorded steps an explanation carries.
const shownSteps = 5

// Workflow explains one workflow; any login that may read will do. A workflow that does not exist is an Explanation
// with the cause NotFound. At a foreign catalog it is journal.ErrCatalog (C7).
func Workflow(ctx context.Context, db journal.Beginner, workflowID string) (Explanation, error) {
	var situation *journal.Situation
	err := journal.Look(ctx, db, func(tx pgx.Tx) (err error) {
		if err := journal.CheckCatalog(ctx, tx); err != nil {
			return err
		}
		situation, err = journal.Explain(ctx, tx, workflowID)
		return err
	})
	if err != nil {
		return Explanation{}, err
	}
	return Of(workflowID, situation), nil
}

// Of judges a situation; nil is a workflow that does not exist.
func Of(workflowID string, s *journal.Situation) Explanation {
	if s == nil {
		return Explanation{
			WorkflowID: workflowID, Cause: NotFound, Why: "there is no such workflow in this database",
			Move:  "check the ID and the database; a finished workflow is deleted when it is old enough",
			Steps: []Step{}, Takeovers: []journal.Takeover{},
		}
	}
	w := s.Workflow
	e := Explanation{
		WorkflowID: workflowID, Name: w.Name, Application: w.Application, Version: w.Version, State: s.State,
		Queue: cmp.Or(w.HomeQueue, w.Queue), Partition: w.Partition, Priority: w.Priority, ParentID: w.ParentID,
		ExecutorID: w.ExecutorID, Lease: lease(s), Attempts: w.Attempts, MaxAttempts: journal.MaxAttempts, TakenBack: w.Refunds,
		Checkpoints: len(s.Checkpoints), Steps: []Step{}, SubmittedAt: &w.SubmittedAt, ClaimedAt: w.ClaimedAt,
		FinishedAt: w.FinishedAt, Deadline: w.Deadline, Now: w.Now, Holders: s.Holders, Takeovers: s.Takeovers,
	}
	for _, c := range s.Checkpoints[max(0, len(s.Checkpoints)-shownSteps):] {
		e.Steps = append(e.Steps, Step{c.Number, c.Name, c.CompletedAt})
	}
	a := judge(s)
	e.Cause, e.Why, e.Until, e.Move, e.Command = a.cause, a.why, a.until, a.move, a.command
	return e
}

// lease says what became of the executor that the workflow names.
func lease(s *journal.Situation) string {
	switch {
	case s.Workflow.ExecutorID == "":
		return ""
	case s.Owner == nil:
		return "unregistered"
	case s.Owner.Live:
		return "live"
	case s.Owner.State == "active":
		return "expired"
	}
	return s.Owner.State
}
