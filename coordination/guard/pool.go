package guard

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pool is a worker's pool of business connections. Only Open makes one (through Runtime.ConfigurePool), so a pool
// whose sessions carry no identity does not fit where a Pool is asked for (F1, F5).
type Pool struct {
	pool *pgxpool.Pool
}

// Open returns a pool to url whose connections carry the identity. The endpoint must be the registry's. It does not
// wait for the database; the first use does.
func Open(ctx context.Context, registry *pgx.ConnConfig, id Identity, url string, maxConns int32) (*Pool, error) {
	config, err := id.PoolConfig(url, maxConns)
	if err != nil {
		return nil, err
	}
	if err := SameEndpoint(registry, config.ConnConfig); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open business pool: %w", err)
	}
	return &Pool{pool: pool}, nil
}

// Query runs a query; see pgxpool.Pool.Query.
func (p *Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.pool.Query(ctx, sql, args...)
}

// QueryRow runs a query for one row; see pgxpool.Pool.QueryRow.
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.pool.QueryRow(ctx, sql, args...)
}

// Exec runs a statement; see pgxpool.Pool.Exec.
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.pool.Exec(ctx, sql, args...)
}

// Begin starts a transaction at the server's default isolation; see pgxpool.Pool.Begin.
func (p *Pool) Begin(ctx context.Context) (pgx.Tx, error) { return p.pool.Begin(ctx) }

// BeginTx starts a transaction; see pgxpool.Pool.BeginTx.
func (p *Pool) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	return p.pool.BeginTx(ctx, options)
}

// CopyFrom copies rows; see pgxpool.Pool.CopyFrom.
func (p *Pool) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return p.pool.CopyFrom(ctx, table, columns, rows)
}

// SendBatch sends a batch; see pgxpool.Pool.SendBatch.
func (p *Pool) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return p.pool.SendBatch(ctx, batch)
}

// Ping checks that the database answers.
func (p *Pool) Ping(ctx context.Context) error { return p.pool.Ping(ctx) }

// Close closes every connection and waits for those in use.
func (p *Pool) Close() { p.pool.Close() }
