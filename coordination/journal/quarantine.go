package journal

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed sql/quarantine_functions.sql
var quarantineFunctionsSQL string

//go:embed sql/quarantine_adopt.sql
var quarantineAdoptSQL string

//go:embed sql/quarantine_unsignalled.sql
var quarantineUnsignalledSQL string

//go:embed sql/quarantine_unsettled.sql
var quarantineUnsettledSQL string

//go:embed sql/quarantine_settled.sql
var quarantineSettledSQL string

// Exhausted is a workflow that lost its last allowed worker.
type Exhausted struct {
	WorkflowID, WorkflowName string
	Attempts                 int64
	Reason                   string
	LostExecutor             uuid.UUID
}

// Adopt takes over workflows that the SDK itself gave up, and returns how many.
func (j *Journal) Adopt(ctx context.Context) (adopted int, err error) {
	if err := j.control.QueryRow(ctx, quarantineAdoptSQL, j.executor).Scan(&adopted); err != nil {
		return 0, fmt.Errorf("adopt exhausted workflows: %w", err)
	}
	return adopted, nil
}

// Signal hands each workflow that was never signalled to tell, once, and then marks it. If the process dies in
// between, the next scanner tells it again: a line may be repeated after a crash, never lost (P2).
func (j *Journal) Signal(ctx context.Context, tell func(Exhausted)) (signalled int, err error) {
	err = pgx.BeginFunc(ctx, j.control, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, quarantineUnsignalledSQL, j.executor)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Exhausted])
		if err != nil {
			return err
		}
		for _, q := range list {
			tell(q)
		}
		signalled = len(list)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("signal quarantined workflows: %w", err)
	}
	return signalled, nil
}

// Settlement is what became of one workflow that was due.
type Settlement struct {
	WorkflowID string
	// Due is false when there was nothing to settle.
	Due bool
	// Failure is what the settlement ended with; nil when it is done.
	Failure error
}

// Settle locks one workflow that is due, has settle write its business state, and notes the result; retry says how
// long to wait after the given number of failures. A crash anywhere leaves the workflow unsettled and settle is called
// again: it must be idempotent (P3), and short: the lock is a transaction that idles meanwhile (K4).
func (j *Journal) Settle(ctx context.Context, settle func(ctx context.Context, workflowID, name string) error, retry func(failures int) time.Duration) (done Settlement, err error) {
	var again *int64
	err = pgx.BeginFunc(ctx, j.control, func(tx pgx.Tx) error {
		var name string
		var failures int
		scan := tx.QueryRow(ctx, quarantineUnsettledSQL, j.executor).Scan(&done.WorkflowID, &name, &failures)
		if errors.Is(scan, pgx.ErrNoRows) {
			return nil
		}
		if scan != nil {
			return scan
		}
		done.Due = true
		if done.Failure = settle(ctx, done.WorkflowID, name); done.Failure != nil {
			wait := retry(failures + 1).Milliseconds()
			again = &wait
		}
		_, err := tx.Exec(ctx, quarantineSettledSQL, j.executor, done.WorkflowID, again)
		return err
	})
	if err != nil && done.Failure != nil && ctx.Err() == nil {
		// The settlement may have taken the transaction with it. Its failure has to count all the same, or it would be
		// tried again without a pause.
		_, err = j.control.Exec(ctx, quarantineSettledSQL, j.executor, done.WorkflowID, again)
	}
	if err != nil {
		return done, fmt.Errorf("settle quarantined workflow: %w", err)
	}
	return done, nil
}
