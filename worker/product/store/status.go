package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/kesita/platform/worker/product/task"
)

// CreateTask queues a summary of a document's current revision and returns its
// input, in generation 1. The caller enqueues the workflow in the same
// transaction. A document of another tenant is refused by the foreign key.
func CreateTask(ctx context.Context, db Database, tenant, document uuid.UUID, sentenceLimit int) (task.Input, error) {
	in := task.Input{TenantID: tenant, TaskID: uuid.New()}
	err := db.QueryRow(ctx, taskInsertSQL, tenant, in.TaskID, document, string(task.Summary), sentenceLimit).Scan(&in.Generation)
	if err != nil {
		return task.Input{}, fmt.Errorf("create task: %w", err)
	}
	return in, nil
}

// Status is what a user may know of a task. Run and receipt are those of the
// current generation; zero values mean that there is none yet.
type Status struct {
	TenantID          uuid.UUID        `json:"tenant_id"`
	TaskID            uuid.UUID        `json:"task_id"`
	DocumentID        uuid.UUID        `json:"document_id"`
	Kind              task.Kind        `json:"kind"`
	State             task.State       `json:"state"`
	Generation        int              `json:"generation"`
	Failure           task.FailureCode `json:"failure,omitempty"`
	CreatedAt         time.Time        `json:"created_at"`
	UpdatedAt         time.Time        `json:"updated_at"`
	FinishedAt        *time.Time       `json:"finished_at,omitempty"`
	RunID             *uuid.UUID       `json:"run_id,omitempty"`
	Attempts          int              `json:"attempts,omitempty"`
	BaseRevision      int              `json:"base_revision,omitempty"`
	PublishedRevision int              `json:"published_revision,omitempty"`
	// Receipt is requested, answered, rejected or unknown.
	Receipt           string `json:"receipt,omitempty"`
	ProviderReceiptID string `json:"provider_receipt_id,omitempty"`
	// Sends counts the requests that may have left for the provider.
	Sends  int    `json:"sends,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TaskStatus returns the status of a tenant's task, or ErrTaskUnknown.
func TaskStatus(ctx context.Context, db Database, tenant, taskID uuid.UUID) (Status, error) {
	s := Status{TenantID: tenant, TaskID: taskID}
	err := db.QueryRow(ctx, taskStatusSQL, tenant, taskID).Scan(
		&s.DocumentID, &s.Kind, &s.State, &s.Generation, &s.Failure, &s.CreatedAt, &s.UpdatedAt, &s.FinishedAt,
		&s.RunID, &s.Attempts, &s.BaseRevision, &s.PublishedRevision,
		&s.Receipt, &s.ProviderReceiptID, &s.Sends, &s.Reason)
	if err != nil {
		return Status{}, fmt.Errorf("read task: %w", orNone(err, ErrTaskUnknown))
	}
	return s, nil
}

// Tally counts a tenant's tasks by state, and what must be zero.
type Tally struct {
	Queued  int `json:"queued"`
	Running int `json:"running"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	// Published counts the revisions that current generations wrote.
	Published int `json:"published"`
	// PublishedTwice and DoneUnpublished count broken tasks.
	PublishedTwice  int `json:"published_twice"`
	DoneUnpublished int `json:"done_unpublished"`
}

// CountTasks returns a tenant's tally, of one moment.
func CountTasks(ctx context.Context, db Database, tenant uuid.UUID) (Tally, error) {
	var t Tally
	err := db.QueryRow(ctx, tallySQL, tenant).Scan(&t.Queued, &t.Running, &t.Done, &t.Failed, &t.Published, &t.PublishedTwice, &t.DoneUnpublished)
	if err != nil {
		return Tally{}, fmt.Errorf("count tasks: %w", err)
	}
	return t, nil
}
