package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/schema"
)

var (
	// ErrIdentityLost says that the session arrived, or would arrive, without the executor's identity: a pooler that
	// keeps no start-up parameters stands in between.
	ErrIdentityLost = errors.New("session identity lost: connect directly, not through a connection pooler")
	// ErrNotWorker says that the login is not a worker login of this database, so the fence would not see it.
	ErrNotWorker = errors.New("login is not a worker login")
	// ErrSchemaOld says that the coordination schema is older than this binary needs.
	ErrSchemaOld = errors.New("coordination schema is too old: run the migration")
)

// Connection is a pool or a connection that carries the identity to verify.
type Connection interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Verify proves before anything starts that the database is the right one and that the fence can see this worker:
// the identity arrived (F1), the login is listed (K2), the application owns the database (C3), the schema is recent.
func Verify(ctx context.Context, db Connection, executor uuid.UUID, application string) error {
	var login, seen, owner string
	var worker bool
	var version int
	err := db.QueryRow(ctx, identitySQL).Scan(&login, &worker, &seen, &owner, &version)
	switch {
	case fault.Of(err) == fault.IdentityLost:
		return fmt.Errorf("verify identity: %w: %w", ErrIdentityLost, err)
	case err != nil:
		return fmt.Errorf("verify identity: %w", err)
	case owner != application:
		return fmt.Errorf("verify identity: %w: %s, this is %s", schema.ErrOtherApplication, owner, application)
	case !worker:
		return fmt.Errorf("verify identity: %w: %s", ErrNotWorker, login)
	case seen != executor.String():
		return fmt.Errorf("verify identity: %w", ErrIdentityLost)
	case version < schema.Version:
		return fmt.Errorf("verify identity: %w: version %d, need %d", ErrSchemaOld, version, schema.Version)
	}
	return nil
}

// VerifyAdmission proves that the fence admits this executor through db. A pool with another worker login than the one
// that registered is refused here and not at its first write.
func VerifyAdmission(ctx context.Context, db Connection, executor uuid.UUID) error {
	var milliseconds int64
	if err := db.QueryRow(ctx, checkSQL, executor).Scan(&milliseconds); err != nil {
		return fmt.Errorf("verify admission: %w", err)
	}
	return nil
}

// VerifyGuards returns an error that names every table or role through which a stale worker could write (F6, K1).
func VerifyGuards(ctx context.Context, db Connection) error {
	if _, err := db.Exec(ctx, verifyGuardsSQL); err != nil {
		return fmt.Errorf("verify guards: %w", err)
	}
	return nil
}
