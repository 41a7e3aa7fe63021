// Package journal is the adapter to the DBOS journal: the only code that knows its tables, its catalog number and
// its statuses. An upgrade of the SDK is reviewed here and nowhere else.
//
// The database's functions, created by the migrator, are authoritative; this package calls them and names their
// results. It must not know services or business tables. At any other catalog number it refuses and touches
// nothing (C7).
package journal

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// SDKVersion is the DBOS Go release that this adapter was reviewed for.
	SDKVersion = "1.4.0"
	// Catalog is the catalog number that this release creates.
	Catalog = 113
	// Schema is the database schema of the journal.
	Schema = "dbos"
	// MaxAttempts is the number of executions a workflow gets in all: the first and three recoveries (P1).
	MaxAttempts = 4
	// MaxRecoveries is what the SDK calls the same limit: executions after the first one.
	MaxRecoveries = MaxAttempts - 1
	// ClaimCeiling bounds the claims of one workflow, those taken back included (K3).
	ClaimCeiling = 100
	// InternalQueue is the SDK's own queue, which every runtime listens to (T4).
	InternalQueue = "_dbos_internal_queue"
)

// ErrCatalog says that the journal's catalog is not the supported one. Match with errors.Is.
var ErrCatalog = errors.New("journal catalog not supported")

//go:embed sql/journal.sql
var journalSQL string

//go:embed sql/catalog.sql
var catalogSQL string

//go:embed sql/install_guards.sql
var installGuardsSQL string

//go:embed sql/candidates.sql
var candidatesSQL string

//go:embed sql/locked.sql
var lockedSQL string

//go:embed sql/recover.sql
var recoverSQL string

//go:embed sql/remove_probe.sql
var removeProbeSQL string

// Apply creates or updates the coordination functions that touch the journal. The migrator calls it after
// schema.Apply, in the same transaction, when the SDK has created its catalog.
func Apply(ctx context.Context, tx pgx.Tx) error {
	for _, source := range Source() {
		if _, err := tx.Exec(ctx, source); err != nil {
			return fmt.Errorf("apply journal functions: %w", err)
		}
	}
	return nil
}

// Connection is what the adapter needs of a pool, a connection or a transaction.
type Connection interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// CheckCatalog returns ErrCatalog with both numbers when the journal is missing or has another catalog (C7).
func CheckCatalog(ctx context.Context, db Connection) error {
	var number *int64
	if err := db.QueryRow(ctx, catalogSQL).Scan(&number); err != nil {
		return fmt.Errorf("read journal catalog: %w", err)
	}
	switch {
	case number == nil:
		return fmt.Errorf("%w: the journal is missing, DBOS Go %s needs catalog %d: run the migration", ErrCatalog, SDKVersion, Catalog)
	case *number != Catalog:
		return fmt.Errorf("%w: found catalog %d, DBOS Go %s needs %d", ErrCatalog, *number, SDKVersion, Catalog)
	}
	return nil
}

// InstallGuards puts the write guard on every journal table that lacks it and returns how many it added (C7, K1).
func InstallGuards(ctx context.Context, db Connection) (added int, err error) {
	if err := db.QueryRow(ctx, installGuardsSQL).Scan(&added); err != nil {
		return 0, fmt.Errorf("install journal guards: %w", err)
	}
	return added, nil
}

// Journal moves work between executors, in the name of one of them.
type Journal struct {
	control  *pgxpool.Pool
	executor uuid.UUID
}

// Open returns the journal as seen by executor. control carries that executor's identity.
func Open(control *pgxpool.Pool, executor uuid.UUID) *Journal {
	return &Journal{control: control, executor: executor}
}

// Candidate is an executor whose work waits for a takeover.
type Candidate struct {
	ExecutorID uuid.UUID
	// State is active (expired), released or revoked.
	State string
}

// Candidates lists at most limit executors of the own application and version to recover (D3, T5); those in
// deferred come last, so that one that fails again and again cannot use the limit up.
func (j *Journal) Candidates(ctx context.Context, limit int, deferred []uuid.UUID) ([]Candidate, error) {
	if deferred == nil {
		deferred = []uuid.UUID{}
	}
	rows, err := j.control.Query(ctx, candidatesSQL, j.executor, limit, deferred)
	if err != nil {
		return nil, fmt.Errorf("list recovery candidates: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Candidate])
	if err != nil {
		return nil, fmt.Errorf("list recovery candidates: %w", err)
	}
	return list, nil
}

// Locked lists expired executors whose lease row a transaction still holds (K4).
func (j *Journal) Locked(ctx context.Context) ([]uuid.UUID, error) {
	rows, err := j.control.Query(ctx, lockedSQL, j.executor)
	if err != nil {
		return nil, fmt.Errorf("list locked executors: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("list locked executors: %w", err)
	}
	return list, nil
}

// Recovery is what one recovery transaction did.
type Recovery struct {
	// Outcome is recovered, busy or alive.
	Outcome string
	// Cause is expired, revoked or released; empty unless recovered.
	Cause string
	// Reenqueued counts workflows that wait for a claim again.
	Reenqueued int
	// Held counts suspects: workflows that lost two workers or more and are released one at a time (X3).
	Held int
	// Quarantined are the IDs of workflows that lost their last allowed worker (P2).
	Quarantined []string
	// LastChance are the IDs of workflows that one more lost worker will quarantine.
	LastChance []string
	// ProbesRemoved counts diagnostic records that were deleted (D13).
	ProbesRemoved int
}

// Recovered reports whether the transaction had the lost executor's row.
func (r Recovery) Recovered() bool { return r.Outcome == "recovered" }

// Recover revokes one executor and moves its pending work, whole or not at all (T2, K6).
func (j *Journal) Recover(ctx context.Context, lost uuid.UUID) (Recovery, error) {
	r, err := scanRecovery(j.control.QueryRow(ctx, recoverSQL, j.executor, lost, MaxAttempts, ClaimCeiling))
	if err != nil {
		return Recovery{}, fmt.Errorf("recover executor %s: %w", lost, err)
	}
	return r, nil
}

func scanRecovery(row pgx.Row) (r Recovery, err error) {
	err = row.Scan(&r.Outcome, &r.Cause, &r.Reenqueued, &r.Held, &r.Quarantined, &r.LastChance, &r.ProbesRemoved)
	return r, err
}

// ProbeQueue is the name of the executor's private queue, and the ID of its one probe workflow (D4).
func (j *Journal) ProbeQueue() string { return "kesita-probe-" + j.executor.String() }

// RemoveProbe deletes the own private queue and the records of its probe (D13).
func (j *Journal) RemoveProbe(ctx context.Context) error {
	var removed int
	if err := j.control.QueryRow(ctx, removeProbeSQL, j.executor).Scan(&removed); err != nil {
		return fmt.Errorf("remove probe: %w", err)
	}
	return nil
}
