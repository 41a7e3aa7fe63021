package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kesita/platform/worker/corpus/refusal"
)

// maxDetail is the longest text beside a failure code, in characters. The table allows 1000.
const maxDetail = 500

// everyItem stands for all items of a job.
const everyItem = -1

// Database is what every function needs: a pool of the api, the guarded pool of a worker, or a transaction.
type Database interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Decisions of the store.
var (
	// ErrJobUnknown: there is no job of this ID.
	ErrJobUnknown = errors.New("job is unknown")
	// ErrJobFinished: the job is done or failed already.
	ErrJobFinished = errors.New("job is finished")
	// ErrJobExists: another source has a job of this ID.
	ErrJobExists = errors.New("job exists with another source")
	// ErrSuperseded: a later attempt of the job has begun, or it was ended.
	ErrSuperseded = errors.New("attempt is superseded")
)

// State is the state of a job.
type State string

// The states. Done and Failed are final.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

// Job is one job and what it came to so far: Items is how many documents the source held, and those that are finished
// were Indexed, found Unchanged, or Refused. Passages are those of the first two. Removed counts the documents that the
// source does not hold any more.
type Job struct {
	ID            string       `json:"id"`
	Source        string       `json:"source"`
	State         State        `json:"state"`
	Attempt       int          `json:"attempt"`
	FailureCode   refusal.Code `json:"failure_code,omitempty"`
	FailureDetail string       `json:"failure_detail,omitempty"`
	Items         int          `json:"items"`
	Indexed       int          `json:"indexed"`
	Unchanged     int          `json:"unchanged"`
	Refused       int          `json:"refused"`
	Passages      int64        `json:"passages"`
	Removed       int          `json:"removed"`
	CreatedAt     time.Time    `json:"created_at"`
	StartedAt     *time.Time   `json:"started_at,omitempty"`
	FinishedAt    *time.Time   `json:"finished_at,omitempty"`
}

// Finished reports whether nothing will happen to the job any more.
func (j Job) Finished() bool { return j.State == Done || j.State == Failed }

// Fence is the right to write for a job: one attempt of it.
type Fence struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
}

// Check returns nil when the tables answer to this login (H3).
func Check(ctx context.Context, db Database) error {
	var found bool // whether there is a job says nothing here
	if err := db.QueryRow(ctx, readySQL).Scan(&found); err != nil {
		return fmt.Errorf("check corpus tables: %w", err)
	}
	return nil
}

// Create adds a queued job. created is false when there is one already for the same source; ErrJobExists for another.
func Create(ctx context.Context, db Database, id, source string) (created bool, err error) {
	tag, err := db.Exec(ctx, jobInsertSQL, id, source)
	if err != nil {
		return false, fmt.Errorf("create job: %w", err)
	}
	if tag.RowsAffected() == 1 {
		return true, nil
	}
	known, err := Status(ctx, db, id)
	if err == nil && known.Source != source {
		err = fmt.Errorf("%w: %s", ErrJobExists, id)
	}
	return false, err
}

// Begin starts an attempt and fences every earlier one. Errors: ErrJobUnknown, ErrJobFinished.
func Begin(ctx context.Context, db Database, id string) (Fence, error) {
	fence := Fence{JobID: id}
	err := db.QueryRow(ctx, jobBeginSQL, id).Scan(&fence.Attempt)
	if !errors.Is(err, pgx.ErrNoRows) {
		return fence, wrap("begin job", err)
	}
	if _, err := Status(ctx, db, id); err != nil {
		return fence, err
	}
	return fence, fmt.Errorf("%w: %s", ErrJobFinished, id)
}

// Plan replaces the list of the job's documents and deletes what an earlier attempt left unfinished. Errors: ErrSuperseded.
func Plan(ctx context.Context, db Database, fence Fence, uris []string) error {
	return held(ctx, db, fence, "plan job", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, documentDiscardSQL, fence.JobID, everyItem); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, itemClearSQL, fence.JobID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, itemInsertSQL, fence.JobID, uris)
		return err
	})
}

// Item returns the URI of one planned document and the database's time, for Document.ReadAt. Errors: ErrSuperseded.
func Item(ctx context.Context, db Database, fence Fence, ordinal int) (uri string, now time.Time, err error) {
	err = db.QueryRow(ctx, itemURISQL, fence.JobID, fence.Attempt, ordinal).Scan(&uri, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrSuperseded
	}
	return uri, now, wrap("read item", err)
}

// Refuse notes why a document is not indexed. detail is for people and is cut to 500 characters. Errors: ErrSuperseded.
func Refuse(ctx context.Context, db Database, fence Fence, ordinal int, code refusal.Code, detail string) error {
	return held(ctx, db, fence, "refuse document", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, documentDiscardSQL, fence.JobID, ordinal); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, itemFinishSQL, fence.JobID, ordinal, "refused", code, clean(detail, maxDetail), 0)
		return err
	})
}

// Sweep deletes one batch of the published documents that the job's source does not list any more, and reports whether
// there may be more: call it until there is not. source is what Document.Source was. Errors: ErrSuperseded.
func Sweep(ctx context.Context, db Database, fence Fence, source string) (more bool, err error) {
	const batch = 20 // each may have some ten thousand passages
	removed := 0
	err = held(ctx, db, fence, "sweep documents", func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, documentVanishedSQL, fence.JobID, source, batch).Scan(&removed); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, jobRemovedSQL, fence.JobID, fence.Attempt, removed)
		return err
	})
	return removed == batch, err
}

// Settle ends the job: failed for the reason that is given, else as its documents say. It returns the job as it is
// then, also when this attempt settled it before. Errors: ErrSuperseded.
func Settle(ctx context.Context, db Database, fence Fence, failure refusal.Code, detail string) (Job, error) {
	var code, text *string
	if failure != "" {
		given, cleaned := string(failure), clean(detail, maxDetail)
		code, text = &given, &cleaned
	}
	tag, err := db.Exec(ctx, jobSettleSQL, fence.JobID, fence.Attempt, code, text, refusal.NothingIndexed)
	if err != nil {
		return Job{}, fmt.Errorf("settle job: %w", err)
	}
	job, err := Status(ctx, db, fence.JobID)
	if err == nil && tag.RowsAffected() == 0 && (job.Attempt != fence.Attempt || !job.Finished()) {
		return Job{}, fmt.Errorf("settle job: %w", ErrSuperseded)
	}
	return job, err
}

// Abandon fails a job from outside of its workflow, which will not run again (P3). Whoever still works on it is fenced.
// A finished or unknown job is left as it is.
func Abandon(ctx context.Context, db Database, id string, code refusal.Code) error {
	return wrap("abandon job", pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, jobAbandonSQL, id, code); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, documentDiscardSQL, id, everyItem)
		return err
	}))
}

// held runs fn in a transaction that holds the fence.
func held(ctx context.Context, db Database, fence Fence, operation string, fn func(tx pgx.Tx) error) error {
	return wrap(operation, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var now time.Time
		err := tx.QueryRow(ctx, jobHoldSQL, fence.JobID, fence.Attempt).Scan(&now)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrSuperseded
		case err != nil:
			return err
		}
		return fn(tx)
	}))
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// clean makes text fit for a column: valid, without NUL, of at most limit characters.
func clean(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
	if utf8.RuneCountInString(text) > limit {
		return string([]rune(text)[:limit])
	}
	return text
}
