package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"time"
)

//go:embed sql/retention_functions.sql
var retentionFunctionsSQL string

//go:embed sql/retire.sql
var retireSQL string

// Place is where a round of the clean-up stands, in the order in which workflows ended. The zero value is the start.
type Place struct {
	endedMS    int64
	workflowID string
}

// Retired is what one batch of the clean-up did.
type Retired struct {
	// Examined counts the workflows that were old enough to be looked at, Deleted those that are gone.
	Examined, Deleted int
	// Next is where the next batch begins: the zero value when this round is over.
	Next Place
}

// Retire looks at the next limit workflows that ended longer than age ago and deletes the finished ones with all their
// records, in one fenced transaction. Unfinished, quarantined and parked work is left alone, and so are the parents
// and children of unfinished work; executors are never deleted (K10).
func (j *Journal) Retire(ctx context.Context, age time.Duration, limit int, from Place) (Retired, error) {
	var r Retired
	var next *int64
	err := j.control.QueryRow(ctx, retireSQL, j.executor, age.Milliseconds(), limit, from.endedMS, from.workflowID).
		Scan(&r.Examined, &r.Deleted, &next, &r.Next.workflowID)
	if err != nil {
		return Retired{}, fmt.Errorf("retire workflows: %w", err)
	}
	if next != nil {
		r.Next.endedMS = *next
	}
	return r, nil
}
