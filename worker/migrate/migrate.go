package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/timing"
)

const versionTable = "workflow_coordination.migration"

// Service is what a service brings to its database.
type Service struct {
	// Application owns the database; another one is refused (C3).
	Application string
	// Schema is the schema of the business tables.
	Schema string
	// Migrations holds the goose files, numbered from 2: number 1 is the shared coordination SQL.
	Migrations fs.FS
}

// Logins are the roles besides the owner (K2).
type Logins struct {
	Worker, API, Reader string
}

// Config is one migration.
type Config struct {
	// OwnerURL leads to the service's database as its owner.
	OwnerURL string
	Service  Service
	Logins   Logins
}

// Result is what a migration did.
type Result struct {
	// Applied are the service's migrations that were new, by file name.
	Applied []string
	// Version is the service's migration number afterwards.
	Version int64
}

// Run brings the database to the current shape: catalog, coordination SQL, the service's migrations, privileges,
// guards. It waits for another migration of the same database, until ctx ends. Errors: journal.ErrCatalog for a newer
// catalog, SQLSTATE KF007 when a table is left unguarded, database errors otherwise.
func Run(ctx context.Context, config Config) (Result, error) {
	connection, err := pgx.ParseConfig(config.OwnerURL)
	if err != nil {
		return Result{}, fmt.Errorf("parse owner url: %w", err)
	}
	if err := guard.CheckTransport(connection); err != nil {
		return Result{}, err
	}
	conn, err := pgx.ConnectConfig(ctx, connection)
	if err != nil {
		return Result{}, fmt.Errorf("connect as owner: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the session's locks end with it
	if err := lock(ctx, conn); err != nil {
		return Result{}, err
	}
	if err := schema.CheckOwner(ctx, conn, config.Service.Application); err != nil {
		return Result{}, err
	}
	if err := journal.Create(ctx, config.OwnerURL, config.Service.Application); err != nil {
		return Result{}, err
	}
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return applyShared(ctx, tx, config) }); err != nil {
		return Result{}, err
	}
	result, err := applyService(ctx, connection, config.Service)
	if err != nil {
		return result, err
	}
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return finish(ctx, tx, config) }); err != nil {
		return result, err
	}
	if _, err := conn.Exec(ctx, unlockSQL); err != nil {
		return result, fmt.Errorf("end migration: %w", err)
	}
	return result, nil
}

// lock returns when no other migration of this database runs. The lock ends with the session.
func lock(ctx context.Context, conn *pgx.Conn) error {
	again := time.NewTicker(timing.MigrationPoll)
	defer again.Stop()
	for {
		var alone bool
		if err := conn.QueryRow(ctx, lockSQL).Scan(&alone); err != nil {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
		if alone {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for other migrations: %w", context.Cause(ctx))
		case <-again.C:
		}
	}
}

func applyShared(ctx context.Context, tx pgx.Tx, config Config) error {
	if err := schema.Apply(ctx, tx, config.Service.Application); err != nil {
		return err
	}
	if err := journal.Apply(ctx, tx); err != nil {
		return err
	}
	return schema.ListWorker(ctx, tx, config.Logins.Worker)
}

func applyService(ctx context.Context, connection *pgx.ConnConfig, service Service) (result Result, err error) {
	db := stdlib.OpenDB(*connection)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, service.Migrations,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return Result{}, fmt.Errorf("read migrations: %w", err)
	}
	applied, err := provider.Up(ctx)
	for _, a := range applied {
		result.Applied = append(result.Applied, a.Source.Path)
	}
	if err != nil {
		return result, fmt.Errorf("apply migrations: %w", err)
	}
	if result.Version, err = provider.GetDBVersion(ctx); err != nil {
		return result, fmt.Errorf("read migration version: %w", err)
	}
	return result, nil
}

func finish(ctx context.Context, tx pgx.Tx, config Config) error {
	rows, err := tx.Query(ctx, grantsSQL, config.Service.Schema, config.Logins.Worker, config.Logins.API, config.Logins.Reader)
	if err != nil {
		return fmt.Errorf("list grants: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list grants: %w", err)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("grant: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, limitLocksSQL, fmt.Sprint(timing.Production().Connect.Milliseconds())); err != nil {
		return fmt.Errorf("limit lock waits: %w", err)
	}
	if _, err := tx.Exec(ctx, finishSQL); err != nil {
		return fmt.Errorf("finish migration: %w", err)
	}
	return nil
}
