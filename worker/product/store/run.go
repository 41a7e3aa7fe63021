package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/product/task"
)

// Run is what a started generation works on: identifiers and numbers, no text.
type Run struct {
	RunID         uuid.UUID `json:"run_id"`
	DocumentID    uuid.UUID `json:"document_id"`
	BaseRevision  int       `json:"base_revision"`
	SentenceLimit int       `json:"sentence_limit"`
}

// StartRun marks a queued task as running and returns its run. Called again
// for the same generation (its first step ran before) it counts an attempt and
// returns the same run on the same base revision. ErrTaskUnknown,
// ErrStaleGeneration, ErrTaskFinished.
func StartRun(ctx context.Context, db Database, in task.Input) (Run, error) {
	var run Run
	err := inTransaction(ctx, db, "start run", func(tx pgx.Tx) error {
		held, err := lockTask(ctx, tx, in)
		if err != nil {
			return err
		}
		switch {
		case held.generation != in.Generation:
			return ErrStaleGeneration
		case held.state != task.Queued && held.state != task.Running:
			return ErrTaskFinished
		}
		if _, err := tx.Exec(ctx, taskStartSQL, in.TenantID, in.TaskID, in.Generation); err != nil {
			return err
		}
		run.DocumentID, run.SentenceLimit = held.documentID, held.sentenceLimit
		row := tx.QueryRow(ctx, runStartSQL, in.TenantID, in.TaskID, in.Generation, uuid.New())
		return row.Scan(&run.RunID, &run.BaseRevision)
	})
	return run, err
}

// Published is the outcome of a publication.
type Published struct {
	Revision int `json:"revision"`
	// Replayed is true when an earlier call had published it.
	Replayed bool `json:"replayed"`
}

// Publish makes the stored answer of a generation the document's next revision,
// in one transaction under the task's row lock. A generation publishes once:
// later calls return the revision of the first, also when the task has moved on.
// ErrTaskUnknown, ErrStaleGeneration (also for a generation that never started),
// ErrTaskFinished, ErrNotAnswered, ErrRevisionConflict.
func Publish(ctx context.Context, db Database, in task.Input) (Published, error) {
	var published Published
	err := inTransaction(ctx, db, "publish revision", func(tx pgx.Tx) error {
		held, err := lockTask(ctx, tx, in)
		if err != nil {
			return err
		}
		run, err := findRun(ctx, tx, in)
		if err != nil {
			return orNone(err, ErrStaleGeneration)
		}
		if run.published != nil {
			published = Published{Revision: *run.published, Replayed: true}
			return nil
		}
		switch {
		case held.generation != in.Generation:
			return ErrStaleGeneration
		case held.state != task.Running:
			return ErrTaskFinished
		}
		published.Revision, err = publish(ctx, tx, in.TenantID, held.documentID, run)
		return err
	})
	if err != nil {
		return Published{}, err
	}
	return published, nil
}

// publish needs the task's lock.
func publish(ctx context.Context, tx pgx.Tx, tenant, document uuid.UUID, run foundRun) (int, error) {
	number, err := advance(ctx, tx, tenant, document, run.base)
	if err != nil {
		return 0, err
	}
	inserted, err := tx.Exec(ctx, revisionPublishSQL, tenant, run.id, document, number)
	if err != nil {
		return 0, err
	}
	if inserted.RowsAffected() == 0 {
		return 0, ErrNotAnswered
	}
	_, err = tx.Exec(ctx, runPublishSQL, tenant, run.id, number)
	return number, err
}

// Settlement is how a generation ended.
type Settlement struct {
	State   task.State       `json:"state"`
	Failure task.FailureCode `json:"failure,omitempty"`
	// Revision is what was published, 0 for nothing.
	Revision int `json:"revision,omitempty"`
}

// Settle ends a generation: done when it published, whatever failure says,
// else failed with the given code. A request to the provider whose answer never
// came makes the code task.UnknownOutcome, because the provider may have acted
// (F7). A stale generation ends its own run only. Settling again changes
// nothing and returns the first settlement. ErrTaskUnknown.
func Settle(ctx context.Context, db Database, in task.Input, failure task.FailureCode) (Settlement, error) {
	var settled Settlement
	err := inTransaction(ctx, db, "settle task", func(tx pgx.Tx) error {
		held, err := lockTask(ctx, tx, in)
		if err != nil {
			return err
		}
		run, err := findRun(ctx, tx, in)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if run.published != nil {
			settled = Settlement{State: task.Done, Revision: *run.published}
			return end(ctx, tx, in, "")
		}
		stale := held.generation != in.Generation
		if earlier := earlierFailure(held, run, stale); earlier != "" {
			settled = Settlement{State: task.Failed, Failure: earlier}
			return nil
		}
		unanswered, err := tx.Exec(ctx, receiptRejectSQL, in.TenantID, in.TaskID, in.Generation, receiptUnknown, string(task.Internal))
		if err != nil {
			return err
		}
		settled = Settlement{State: task.Failed, Failure: failureOf(failure, stale, unanswered.RowsAffected() > 0)}
		return end(ctx, tx, in, settled.Failure)
	})
	if err != nil {
		return Settlement{}, err
	}
	return settled, nil
}

// earlierFailure is the code of a generation that failed already, "" otherwise.
// A generation may fail before it has a run; then only the task tells.
func earlierFailure(held heldTask, run foundRun, stale bool) task.FailureCode {
	if stale {
		return run.failure
	}
	return held.failure
}

// failureOf picks the code that tells most. Nothing published and no failure
// given is a fault of the caller.
func failureOf(given task.FailureCode, stale, unanswered bool) task.FailureCode {
	switch {
	case unanswered:
		return task.UnknownOutcome
	case stale:
		return task.StaleGeneration
	case given == "":
		return task.Internal
	default:
		return given
	}
}

// end needs the task's lock. The statements match only what has not ended, and
// the task only in this generation.
func end(ctx context.Context, tx pgx.Tx, in task.Input, failure task.FailureCode) error {
	var code *string
	if failure != "" {
		code = new(string(failure))
	}
	for _, statement := range []string{runSettleSQL, taskSettleSQL} {
		if _, err := tx.Exec(ctx, statement, in.TenantID, in.TaskID, in.Generation, code); err != nil {
			return err
		}
	}
	return nil
}

type heldTask struct {
	documentID    uuid.UUID
	state         task.State
	generation    int
	sentenceLimit int
	failure       task.FailureCode
}

func lockTask(ctx context.Context, tx pgx.Tx, in task.Input) (heldTask, error) {
	var held heldTask
	err := tx.QueryRow(ctx, taskLockSQL, in.TenantID, in.TaskID).
		Scan(&held.documentID, &held.state, &held.generation, &held.sentenceLimit, &held.failure)
	if err != nil {
		return heldTask{}, fmt.Errorf("lock task: %w", orNone(err, ErrTaskUnknown))
	}
	return held, nil
}

type foundRun struct {
	id        uuid.UUID
	state     task.State
	base      int
	published *int
	failure   task.FailureCode
}

func findRun(ctx context.Context, tx pgx.Tx, in task.Input) (foundRun, error) {
	var run foundRun
	err := tx.QueryRow(ctx, runByGenerationSQL, in.TenantID, in.TaskID, in.Generation).
		Scan(&run.id, &run.state, &run.base, &run.published, &run.failure)
	return run, err
}
