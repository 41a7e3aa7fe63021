package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/product/task"
)

// EnsureTenant returns the tenant with this name and creates it if there is none.
func EnsureTenant(ctx context.Context, db Database, name string) (uuid.UUID, error) {
	if _, err := db.Exec(ctx, tenantInsertSQL, uuid.New(), name); err != nil {
		return uuid.Nil, fmt.Errorf("create tenant: %w", err)
	}
	return TenantByName(ctx, db, name)
}

// TenantByName returns the tenant with this name, or ErrTenantUnknown.
func TenantByName(ctx context.Context, db Database, name string) (uuid.UUID, error) {
	var id uuid.UUID
	if err := db.QueryRow(ctx, tenantByNameSQL, name).Scan(&id); err != nil {
		return uuid.Nil, fmt.Errorf("find tenant: %w", orNone(err, ErrTenantUnknown))
	}
	return id, nil
}

// CreateDocument stores a document with revision 1, written by a user. It
// returns the errors of task.CheckBody.
func CreateDocument(ctx context.Context, db Database, tenant uuid.UUID, title, body, user string) (uuid.UUID, error) {
	if err := task.CheckBody(body); err != nil {
		return uuid.Nil, err
	}
	id := uuid.New()
	err := inTransaction(ctx, db, "create document", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, documentInsertSQL, tenant, id, title); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, revisionInsertSQL, tenant, id, 1, body, user)
		return err
	})
	return id, err
}

// AddRevision stores a user's next revision of a document that is at revision
// base, and returns its number. ErrRevisionConflict when the document is
// elsewhere or not the tenant's, or the errors of task.CheckBody.
func AddRevision(ctx context.Context, db Database, tenant, document uuid.UUID, base int, body, user string) (int, error) {
	if err := task.CheckBody(body); err != nil {
		return 0, err
	}
	var number int
	err := inTransaction(ctx, db, "add revision", func(tx pgx.Tx) error {
		var err error
		if number, err = advance(ctx, tx, tenant, document, base); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, revisionInsertSQL, tenant, document, number, body, user)
		return err
	})
	return number, err
}

// RevisionBody returns the text of one revision, or ErrDocumentUnknown.
func RevisionBody(ctx context.Context, db Database, tenant, document uuid.UUID, number int) (string, error) {
	var body string
	if err := db.QueryRow(ctx, revisionBodySQL, tenant, document, number).Scan(&body); err != nil {
		return "", fmt.Errorf("read revision: %w", orNone(err, ErrDocumentUnknown))
	}
	return body, nil
}

// advance makes base+1 the current revision and holds the document's row.
func advance(ctx context.Context, tx pgx.Tx, tenant, document uuid.UUID, base int) (int, error) {
	var number int
	err := tx.QueryRow(ctx, documentAdvanceSQL, tenant, document, base).Scan(&number)
	return number, orNone(err, ErrRevisionConflict)
}
