// Package schema owns the one SQL source of the lease table, the guard and the decisions about them (C6).
//
// The database's owner is authoritative: Apply runs as the migrator and nobody else may. The package knows no
// service and no journal table. A failed Apply leaves nothing behind: it runs in the caller's transaction.
package schema

import (
	"context"
	_ "embed" // the SQL source
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/fault"
)

// ErrOtherApplication says that the database belongs to another service (C3).
var ErrOtherApplication = errors.New("database belongs to another application")

// Version is the version of the coordination schema that this source creates.
const Version = 1

//go:embed coordination.sql
var coordinationSQL string

//go:embed describe.sql
var describeSQL string

//go:embed owner.sql
var ownerSQL string

//go:embed list_worker.sql
var listWorkerSQL string

// CheckOwner returns ErrOtherApplication when the database already belongs to another application. It changes nothing
// and works before anything of ours exists.
func CheckOwner(ctx context.Context, db *pgx.Conn, application string) error {
	var owner string
	err := db.QueryRow(ctx, ownerSQL).Scan(&owner)
	switch {
	case fault.Of(err) == fault.SchemaMissing, errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check application: %w", err)
	case owner != application:
		return fmt.Errorf("check application: %w: %s, this is %s", ErrOtherApplication, owner, application)
	}
	return nil
}

// Apply creates or updates the coordination schema and notes which application owns the database. The migrator
// calls it inside its transaction; applying it again changes nothing. It returns ErrOtherApplication when the database
// already belongs to another one.
func Apply(ctx context.Context, tx pgx.Tx, application string) error {
	if _, err := tx.Exec(ctx, coordinationSQL); err != nil {
		return fmt.Errorf("apply coordination schema: %w", err)
	}
	var owner string
	if err := tx.QueryRow(ctx, describeSQL, application, Version).Scan(&owner); err != nil {
		return fmt.Errorf("note application: %w", err)
	}
	if owner != application {
		return fmt.Errorf("note application: %w: %s, this is %s", ErrOtherApplication, owner, application)
	}
	return nil
}

// ListWorker adds login to the worker logins (K2). From then on its sessions are refused without an identity.
func ListWorker(ctx context.Context, tx pgx.Tx, login string) error {
	if _, err := tx.Exec(ctx, listWorkerSQL, login); err != nil {
		return fmt.Errorf("list worker login: %w", err)
	}
	return nil
}

// Source is the SQL that Apply executes.
func Source() string { return coordinationSQL }
