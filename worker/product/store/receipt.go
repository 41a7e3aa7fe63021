package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/product/task"
)

// States of a receipt that Go names.
const (
	receiptRejected = "rejected"
	receiptUnknown  = "unknown"
)

// Answer is what a provider answered.
type Answer struct {
	ReceiptID string // the provider's
	Model     string
	Summary   string
}

// AnsweredReceipt returns the provider's receipt ID when its answer for this
// generation is stored, else "".
func AnsweredReceipt(ctx context.Context, db Database, in task.Input) (string, error) {
	var id string
	err := db.QueryRow(ctx, receiptAnswerSQL, in.TenantID, in.TaskID, in.Generation).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("read receipt: %w", err)
	}
	return id, nil
}

// RecordSend notes that a request is about to leave and returns how many have,
// this one included. It must be committed before the request is sent: then a
// worker that dies leaves an unanswered receipt behind, not silence (F7).
// ErrStaleGeneration when this generation may not send any more, because it is
// stale, finished or answered.
func RecordSend(ctx context.Context, db Database, in task.Input) (int, error) {
	var sends int
	err := db.QueryRow(ctx, receiptSendSQL, in.TenantID, in.TaskID, in.Generation, in.IdempotencyKey()).Scan(&sends)
	if err != nil {
		return 0, fmt.Errorf("record send: %w", orNone(err, ErrStaleGeneration))
	}
	return sends, nil
}

// RecordAnswer stores the provider's answer.
func RecordAnswer(ctx context.Context, db Database, in task.Input, answer Answer) error {
	stored, err := db.Exec(ctx, receiptFulfilSQL, in.TenantID, in.TaskID, in.Generation, answer.ReceiptID, answer.Model, answer.Summary)
	if err == nil && stored.RowsAffected() == 0 {
		err = errNoReceipt
	}
	if err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	return nil
}

// RecordFailure stores that the provider gave no answer, and whether it may
// have acted nevertheless.
func RecordFailure(ctx context.Context, db Database, in task.Input, reason string, mayHaveActed bool) error {
	state := receiptRejected
	if mayHaveActed {
		state = receiptUnknown
	}
	if _, err := db.Exec(ctx, receiptRejectSQL, in.TenantID, in.TaskID, in.Generation, state, reason); err != nil {
		return fmt.Errorf("record failure: %w", err)
	}
	return nil
}

var errNoReceipt = errors.New("no request was recorded")

var _ Database = pgx.Tx(nil)
