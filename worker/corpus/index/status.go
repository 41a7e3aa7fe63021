package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/corpus/refusal"
)

// Fault is one document that a job refused.
type Fault struct {
	URI    string       `json:"uri"`
	Code   refusal.Code `json:"code"`
	Detail string       `json:"detail,omitempty"`
}

// Status returns a job with its counts so far. Errors: ErrJobUnknown.
func Status(ctx context.Context, db Database, id string) (Job, error) {
	var j Job
	err := db.QueryRow(ctx, jobStatusSQL, id).Scan(&j.ID, &j.Source, &j.State, &j.Attempt, &j.FailureCode, &j.FailureDetail,
		&j.Items, &j.Indexed, &j.Unchanged, &j.Refused, &j.Passages, &j.Removed, &j.CreatedAt, &j.StartedAt, &j.FinishedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: %s", ErrJobUnknown, id)
	}
	return j, wrap("read job", err)
}

// Faults returns at most limit documents that the job refused, in the order of the source.
func Faults(ctx context.Context, db Database, id string, limit int) ([]Fault, error) {
	rows, err := db.Query(ctx, jobFaultsSQL, id, limit)
	if err != nil {
		return nil, wrap("read faults", err)
	}
	faults, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Fault])
	return faults, wrap("read faults", err)
}
