package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Database is what every function needs: a pool of the api, the guarded pool of
// a worker, or a transaction.
type Database interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Decisions of the domain.
var (
	// ErrTenantUnknown: no tenant has this name.
	ErrTenantUnknown = errors.New("tenant is unknown")
	// ErrTaskUnknown: the tenant has no such task. Another tenant may.
	ErrTaskUnknown = errors.New("task is unknown")
	// ErrDocumentUnknown: the tenant has no such document or revision.
	ErrDocumentUnknown = errors.New("document is unknown")
	// ErrStaleGeneration: a later generation of the task took over.
	ErrStaleGeneration = errors.New("generation is stale")
	// ErrTaskFinished: this generation of the task is done or failed already.
	ErrTaskFinished = errors.New("task is finished")
	// ErrRevisionConflict: the document is not at the base revision any more.
	ErrRevisionConflict = errors.New("document has changed")
	// ErrNotAnswered: there is no provider's answer to publish.
	ErrNotAnswered = errors.New("no answer is stored")
)

// Check returns nil when the business tables answer to this login (H3).
func Check(ctx context.Context, db Database) error {
	var found bool // whether there is a task says nothing here
	if err := db.QueryRow(ctx, readySQL).Scan(&found); err != nil {
		return fmt.Errorf("check product tables: %w", err)
	}
	return nil
}

// inTransaction runs fn in a transaction (a savepoint, if db is one) and commits
// when it returns nil.
func inTransaction(ctx context.Context, db Database, operation string, fn func(tx pgx.Tx) error) error {
	if err := pgx.BeginFunc(ctx, db, fn); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// orNone replaces "no rows" by the decision that it stands for.
func orNone(err, decision error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return decision
	}
	return err
}
