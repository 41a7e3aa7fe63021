package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"log/slog"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/timing"
)

//go:embed sql/installed.sql
var installedSQL string

//go:embed sql/number.sql
var numberSQL string

// Create lets the SDK create its catalog, or bring an older one to the supported number. Only the migrator calls it,
// under its advisory lock: two processes that initialise one catalog at the same time make one of them fail. A newer
// catalog is ErrCatalog and is not touched.
func Create(ctx context.Context, ownerURL, application string) error {
	pool, err := pgxpool.New(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("open migrator pool: %w", err)
	}
	number, err := installed(ctx, pool)
	switch {
	case err != nil:
		pool.Close()
		return err
	case number > Catalog:
		pool.Close()
		return fmt.Errorf("%w: found catalog %d, DBOS Go %s needs %d", ErrCatalog, number, SDKVersion, Catalog)
	case number == Catalog:
		pool.Close()
		return nil
	}
	sdk, err := dbos.NewContext(context.WithoutCancel(ctx), dbos.Config{
		AppName: application, SystemDBPool: pool, DatabaseSchema: Schema, Logger: slog.New(slog.DiscardHandler),
		ExecutorID: "migrator", ApplicationVersion: "migrator",
	})
	if err != nil {
		pool.Close()
		return fmt.Errorf("create journal catalog: %w", err)
	}
	if err := dbos.Shutdown(sdk, timing.Production().Shutdown); err != nil {
		return fmt.Errorf("create journal catalog: %w", err)
	}
	return nil
}

// installed is the catalog's number, 0 when there is none.
func installed(ctx context.Context, pool *pgxpool.Pool) (number int64, err error) {
	var exists bool
	if err := pool.QueryRow(ctx, installedSQL).Scan(&exists); err != nil {
		return 0, fmt.Errorf("read journal catalog: %w", err)
	}
	if !exists {
		return 0, nil
	}
	if err := pool.QueryRow(ctx, numberSQL).Scan(&number); err != nil {
		return 0, fmt.Errorf("read journal catalog: %w", err)
	}
	return number, nil
}
