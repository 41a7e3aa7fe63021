package corpus

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/source"
)

// ErrJobID means that the ID of a job has other characters, or more, than it may have.
var ErrJobID = errors.New("job id must be 1 to 200 letters, digits, dots, colons, dashes or underscores")

var jobID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,200}$`)

// Enqueuer puts a workflow on its queue in a transaction; *submit.Client is one.
type Enqueuer interface {
	Submit(ctx context.Context, tx pgx.Tx, r submit.Request) error
}

// Request is one source to index.
type Request struct {
	// ID makes the submission idempotent: the same ID with the same source is one job. Empty: a new ID.
	ID string
	// Source is a path or a URL as the workers see it, at most 2000 bytes.
	Source string
}

// Submitted is what became of a request.
type Submitted struct {
	JobID      string `json:"job_id"`
	WorkflowID string `json:"workflow_id"`
	// Created is false when there was such a job already.
	Created bool `json:"created"`
}

// Submit adds a job and its workflow in one transaction: both are there, or none. Errors: ErrJobID, a refusal for a name
// that is no source, index.ErrJobExists, the database's.
func Submit(ctx context.Context, db index.Database, queue Enqueuer, r Request) (Submitted, error) {
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
	if !jobID.MatchString(r.ID) {
		return Submitted{}, ErrJobID
	}
	if err := source.Check(r.Source); err != nil {
		return Submitted{}, err
	}
	in := Input{JobID: r.ID, Source: r.Source}
	submitted := Submitted{JobID: in.JobID, WorkflowID: in.WorkflowID()}
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var err error
		if submitted.Created, err = index.Create(ctx, tx, in.JobID, in.Source); err != nil || !submitted.Created {
			return err
		}
		return queue.Submit(ctx, tx, submit.Request{Queue: Queue, Workflow: Workflow, ID: in.WorkflowID(), Input: in})
	})
	if err != nil {
		return Submitted{}, fmt.Errorf("submit job: %w", err)
	}
	return submitted, nil
}
