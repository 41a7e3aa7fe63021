// Package submission is the API side of the product: it takes a text and makes
// tenant, document, task and queued workflow of it in one transaction, so that
// there is never a task without work or work without a task. The database is
// authoritative; the package runs nothing, and needs no lease. What cannot be
// accepted is refused before anything is written, with all faults in one error.
package submission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/task"
)

// Bounds of what is submitted, in characters. The tables hold the same.
const (
	maxName  = 200
	maxTitle = 500
)

// Queue enqueues a workflow in a transaction; *submit.Client is one.
type Queue interface {
	Submit(ctx context.Context, tx pgx.Tx, r submit.Request) error
}

// Request is one document to be worked on.
type Request struct {
	// Tenant is the tenant's name; it is created if there is none.
	Tenant string
	// Author is the user who wrote the text.
	Author string
	Title  string
	// Body is UTF-8 text of at most task.MaxBodyBytes.
	Body string
	// Sentences bounds the summary: 1 to task.MaxSentences, 0 stands for
	// task.DefaultSentences.
	Sentences int
}

// Submitted is what became of a request.
type Submitted struct {
	TenantID   uuid.UUID `json:"tenant_id"`
	DocumentID uuid.UUID `json:"document_id"`
	TaskID     uuid.UUID `json:"task_id"`
	Generation int       `json:"generation"`
	WorkflowID string    `json:"workflow_id"`
}

// Faults of a request.
var (
	ErrTenantName = fmt.Errorf("tenant must have a name of 1 to %d characters", maxName)
	ErrAuthor     = fmt.Errorf("author must have a name of 1 to %d characters", maxName)
	ErrTitle      = fmt.Errorf("title must be text of at most %d characters", maxTitle)
	ErrSentences  = fmt.Errorf("sentences must be from 1 to %d", task.MaxSentences)
)

// Validate returns every fault joined: the ones above and those of task.CheckBody.
func (r Request) Validate() error {
	var faults []error
	if !isText(r.Tenant, 1, maxName) {
		faults = append(faults, ErrTenantName)
	}
	if !isText(r.Author, 1, maxName) {
		faults = append(faults, ErrAuthor)
	}
	if !isText(r.Title, 0, maxTitle) {
		faults = append(faults, ErrTitle)
	}
	if r.Sentences < 0 || r.Sentences > task.MaxSentences {
		faults = append(faults, ErrSentences)
	}
	return errors.Join(append(faults, task.CheckBody(r.Body))...)
}

// Submit stores the request and queues its workflow, all or nothing. Its errors
// are those of Validate, or the database's.
func Submit(ctx context.Context, db store.Database, queue Queue, r Request) (Submitted, error) {
	if err := r.Validate(); err != nil {
		return Submitted{}, err
	}
	if r.Sentences == 0 {
		r.Sentences = task.DefaultSentences
	}
	var s Submitted
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var err error
		if s.TenantID, err = store.EnsureTenant(ctx, tx, r.Tenant); err != nil {
			return err
		}
		if s.DocumentID, err = store.CreateDocument(ctx, tx, s.TenantID, r.Title, r.Body, r.Author); err != nil {
			return err
		}
		in, err := store.CreateTask(ctx, tx, s.TenantID, s.DocumentID, r.Sentences)
		if err != nil {
			return err
		}
		s.TaskID, s.Generation, s.WorkflowID = in.TaskID, in.Generation, in.WorkflowID()
		return queue.Submit(ctx, tx, submit.Request{Queue: task.Queue, Workflow: task.Workflow, ID: s.WorkflowID, Input: in})
	})
	if err != nil {
		return Submitted{}, fmt.Errorf("submit task: %w", err)
	}
	return s, nil
}

func isText(value string, shortest, longest int) bool {
	length := utf8.RuneCountInString(value)
	return length >= shortest && length <= longest && utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}
