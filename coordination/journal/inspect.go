package journal

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/timing"
)

//go:embed sql/operator_functions.sql
var operatorFunctionsSQL string

//go:embed sql/look_only.sql
var lookOnlySQL string

//go:embed sql/lease.sql
var leaseSQL string

//go:embed sql/count_pending.sql
var countPendingSQL string

// Beginner is a pool or a connection.
type Beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Look runs look in a read-only transaction of one moment, whose cost does not grow with history. Any login that may
// read will do.
func Look(ctx context.Context, db Beginner, look func(tx pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, db, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lookOnlySQL); err != nil {
			return fmt.Errorf("begin to look: %w", err)
		}
		return look(tx)
	})
}

// Lease is one executor as the registry shows it, by the database's clock.
type Lease struct {
	ExecutorID   uuid.UUID `db:"executor_id"`
	Application  string    `db:"application_name"`
	Version      string    `db:"application_version"`
	State        string    `db:"state"`
	Login        string    `db:"worker_login"`
	BuildVersion string    `db:"build_version"`
	// LeaseMS is how long each renewal is good for: the scale of this executor's timing.
	LeaseMS      int64     `db:"lease_ms"`
	RegisteredAt time.Time `db:"registered_at"`
	HeartbeatAt  time.Time `db:"heartbeat_at"`
	ExpiresAt    time.Time `db:"expires_at"`
	// EndedAt is when it was revoked or released, else when it expires.
	EndedAt time.Time `db:"ended_at"`
	// Live: active and not expired.
	Live bool      `db:"live"`
	Now  time.Time `db:"now"`
	// Pending counts the workflows that it claimed and that have not ended, its probe left out.
	Pending int64 `db:"pending"`
	// Transactions counts its sessions with an open transaction; the oldest is OldestMS old.
	Transactions int64 `db:"transactions"`
	OldestMS     int64 `db:"oldest_ms"`
}

// Timing is the profile of this executor.
func (l Lease) Timing() timing.Timing {
	return timing.OfLease(time.Duration(l.LeaseMS) * time.Millisecond)
}

// ReadLease returns the executor's lease; nil when the registry does not know it.
func ReadLease(ctx context.Context, db Connection, executor uuid.UUID) (*Lease, error) {
	rows, err := db.Query(ctx, leaseSQL, executor)
	if err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Lease])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	return found, nil
}

// CountPending counts the pending workflows that name an executor, registered or not.
func CountPending(ctx context.Context, db Connection, executor uuid.UUID) (workflows int64, err error) {
	if err := db.QueryRow(ctx, countPendingSQL, executor).Scan(&workflows); err != nil {
		return 0, fmt.Errorf("count pending workflows: %w", err)
	}
	return workflows, nil
}
