package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/submission"
	"github.com/kesita/platform/worker/product/task"
)

type taskSubmitCommand struct {
	database
	Tenant    string `required:"" help:"Name of the tenant; it is created if there is none."`
	Title     string `help:"Title of the document. Default: the name of the file."`
	Author    string `help:"User who wrote the text. Default: USER."`
	Sentences int    `help:"Sentences of the summary. Default: 3."`
	Wait      bool   `help:"Wait until the task is done or failed."`
	File      string `arg:"" help:"Text to summarise; - is standard input."`
}

type taskStatusCommand struct {
	database
	Tenant string    `required:"" help:"Name of the tenant that the task belongs to."`
	Wait   bool      `help:"Wait until the task is done or failed."`
	ID     uuid.UUID `arg:"" help:"ID that submit printed."`
}

// submitted is what submit prints; Status is there with --wait.
type submitted struct {
	submission.Submitted
	Status *status `json:"status,omitempty"`
}

// status is what status prints. Summary is the text that was published, when the task is done.
type status struct {
	store.Status
	Summary string `json:"summary,omitempty"`
}

// Run implements kong's command.
func (c taskSubmitCommand) Run(ctx context.Context, s *session) error {
	const what = "submit task"
	request, err := c.request(s)
	if err != nil {
		return refused(what, err)
	}
	url, err := c.of(s, productTarget())
	if err != nil {
		return failure{what: what, err: err}
	}
	pool, err := open(ctx, url, nil)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer pool.Close()
	client, err := submit.Open(ctx, url, product.Application, product.Version)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer func() { _ = client.Close() }() // what it submitted is committed
	var done submitted
	if done.Submitted, err = submission.Submit(ctx, pool, client, request); err != nil {
		return failure{what: what, err: err}
	}
	if c.Wait {
		found, err := awaitTask(ctx, s, pool, done.TenantID, done.TaskID)
		if err != nil {
			return failure{what: "wait for task " + done.TaskID.String(), err: err}
		}
		done.Status = &found
	}
	return errors.Join(s.print(done), done.Status.failure())
}

// request reads the file, no further than one byte past what a document may have.
func (c taskSubmitCommand) request(s *session) (submission.Request, error) {
	in, name := s.in, "standard input"
	if c.File != "-" {
		file, err := os.Open(filepath.Clean(c.File))
		if err != nil {
			return submission.Request{}, err
		}
		defer func() { _ = file.Close() }() // it was only read
		in, name = file, filepath.Base(c.File)
	}
	body, err := io.ReadAll(io.LimitReader(in, task.MaxBodyBytes+1))
	if err != nil {
		return submission.Request{}, fmt.Errorf("read %s: %w", name, err)
	}
	request := submission.Request{
		Tenant: c.Tenant, Author: cmp.Or(c.Author, s.environ["USER"], "kesita"), Title: cmp.Or(c.Title, name),
		Body: string(body), Sentences: c.Sentences,
	}
	return request, request.Validate()
}

// Run implements kong's command.
func (c taskStatusCommand) Run(ctx context.Context, s *session) error {
	const what = "show task"
	url, err := c.of(s, productTarget())
	if err != nil {
		return failure{what: what, err: err}
	}
	pool, err := open(ctx, url, nil)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer pool.Close()
	tenant, err := store.TenantByName(ctx, pool, c.Tenant)
	if errors.Is(err, store.ErrTenantUnknown) {
		return refused(what, err)
	} else if err != nil {
		return failure{what: what, err: err}
	}
	read := readTask
	if c.Wait {
		read = func(ctx context.Context, pool *pgxpool.Pool, tenant, id uuid.UUID) (status, error) {
			return awaitTask(ctx, s, pool, tenant, id)
		}
	}
	found, err := read(ctx, pool, tenant, c.ID)
	if errors.Is(err, store.ErrTaskUnknown) {
		return refused(what, err)
	} else if err != nil {
		return failure{what: what, err: err}
	}
	if err := s.print(found); err != nil || !c.Wait {
		return err
	}
	return found.failure()
}

func readTask(ctx context.Context, pool *pgxpool.Pool, tenant, id uuid.UUID) (status, error) {
	found, err := store.TaskStatus(ctx, pool, tenant, id)
	if err != nil || found.PublishedRevision == 0 {
		return status{Status: found}, err
	}
	summary, err := store.RevisionBody(ctx, pool, tenant, found.DocumentID, found.PublishedRevision)
	return status{found, summary}, err
}

// awaitTask looks at the task again and again until it is finished.
func awaitTask(ctx context.Context, s *session, pool *pgxpool.Pool, tenant, id uuid.UUID) (status, error) {
	waiting := s.progress("waiting for task", -1)
	defer waiting.finish()
	ticker := time.NewTicker(timing.Production().QueuePoll)
	defer ticker.Stop()
	for {
		found, err := readTask(ctx, pool, tenant, id)
		if err != nil || found.State.Finished() {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-ticker.C:
			waiting.tick()
		}
	}
}

// failure is the command's outcome when the work's is a failure.
func (s *status) failure() error {
	if s == nil || s.State != task.Failed {
		return nil
	}
	return failure{what: "task " + s.TaskID.String(), err: errors.New("failed: " + string(s.Failure)), code: exitFailedWork}
}

func (s submitted) text(out io.Writer) {
	_, _ = fmt.Fprintf(out, "task\t%s\ntenant\t%s\nworkflow\t%s\n", s.TaskID, s.TenantID, s.WorkflowID)
	if s.Status != nil {
		s.Status.outcome(out)
	}
}

func (s status) text(out io.Writer) {
	_, _ = fmt.Fprintf(out, "task\t%s\ndocument\t%s\ncreated\t%s\n", s.TaskID, s.DocumentID, s.CreatedAt.Format(time.RFC3339))
	s.outcome(out)
}

func (s status) outcome(out io.Writer) {
	state := string(s.State)
	if s.Failure != "" {
		state += ": " + string(s.Failure)
	}
	_, _ = fmt.Fprintf(out, "state\t%s\ngeneration\t%d\n", state, s.Generation)
	if s.Receipt != "" {
		_, _ = fmt.Fprintf(out, "provider\t%s, %d sent\n", printable(s.Receipt), s.Sends)
	}
	if s.PublishedRevision > 0 {
		_, _ = fmt.Fprintf(out, "revision\t%d\n\n%s\n", s.PublishedRevision, printable(s.Summary))
	}
}
