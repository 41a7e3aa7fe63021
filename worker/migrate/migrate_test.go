package migrate_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/migrate"
)

// K1, C7: one run brings an empty database to the current shape, and another changes nothing.
func TestARepeatedMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	d := fixture.Unmigrated(t)
	first, err := migrate.Run(t.Context(), d.MigrateConfig(t))
	require.NoError(t, err)
	require.Equal(t, migrate.Result{Applied: []string{"00002_shop.sql"}, Version: 2}, first)
	before := shape(t, d)

	second, err := migrate.Run(t.Context(), d.MigrateConfig(t))
	require.NoError(t, err)
	require.Equal(t, migrate.Result{Version: 2}, second)
	require.Equal(t, before, shape(t, d))
}

// K1: replicas and deployments may all migrate at once; the SDK alone would make all but one of them fail.
func TestFourMigrationsOfAnEmptyDatabaseAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	d := fixture.Unmigrated(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			result, err := migrate.Run(t.Context(), d.MigrateConfig(t))
			if err == nil && result.Version != 2 {
				err = fmt.Errorf("version %d", result.Version)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	owner := d.Connect(t, d.OwnerURL)
	require.EqualValues(t, journal.Catalog, scan[int64](t, owner, `select workflow_coordination.journal_catalog()`))
	require.Equal(t, 1, scan[int](t, owner, `select count(*) from workflow_coordination.migration where version_id = 2`))
}

// K1: a migration waits for another one, and gives up when its caller does.
func TestAMigrationWaitsForAnotherUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	d := fixture.Unmigrated(t)
	other := d.Connect(t, d.OwnerURL)
	_, err := other.Exec(t.Context(), `select pg_advisory_lock(hashtextextended('workflow_coordination.migrate', 0))`)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 3*timing.MigrationPoll)
	defer cancel()
	_, err = migrate.Run(ctx, d.MigrateConfig(t))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, scan[int](t, other, `select count(*) from pg_namespace where nspname in ('dbos', 'shop', 'workflow_coordination')`))

	migrated := make(chan error, 1)
	go func() {
		_, err := migrate.Run(t.Context(), d.MigrateConfig(t))
		migrated <- err
	}()
	require.NoError(t, other.Close(t.Context()))
	require.NoError(t, <-migrated)
}

// C7: a catalog of a newer SDK is another release's business.
func TestANewerCatalogIsRefusedAndNotTouched(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	d.Exec(t, d.OwnerURL, `update dbos.dbos_migrations set version = 114`)
	d.Exec(t, d.OwnerURL, `drop trigger workflow_lease_guard on dbos.streams`)
	before := shape(t, d)
	_, err := migrate.Run(t.Context(), d.MigrateConfig(t))
	require.ErrorIs(t, err, journal.ErrCatalog)
	require.ErrorContains(t, err, "114")
	require.ErrorContains(t, err, "113")
	require.Equal(t, before, shape(t, d))
}

// C7: the same when nothing of ours is there yet.
func TestANewerCatalogIsRefusedInADatabaseWithoutCoordination(t *testing.T) {
	t.Parallel()
	d := fixture.Unmigrated(t)
	d.Exec(t, d.OwnerURL, `create schema dbos`)
	d.Exec(t, d.OwnerURL, `create table dbos.dbos_migrations as select 125::bigint as version`)
	_, err := migrate.Run(t.Context(), d.MigrateConfig(t))
	require.ErrorIs(t, err, journal.ErrCatalog)
	owner := d.Connect(t, d.OwnerURL)
	require.Equal(t, "dbos", scan[string](t, owner, `select string_agg(nspname, ',') from pg_namespace where nspname in ('dbos', 'shop', 'workflow_coordination')`))
	require.Equal(t, 1, scan[int](t, owner, `select count(*) from pg_class where relnamespace = 'dbos'::regnamespace`))
}

// C7, K1: the migrator, and only it, brings a catalog of an older SDK up to date.
func TestAnOlderCatalogIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	d := fixture.Unmigrated(t)
	createCatalog(t, d, 107)
	d.Migrate(t)
	owner := d.Connect(t, d.OwnerURL)
	require.EqualValues(t, journal.Catalog, scan[int64](t, owner, `select workflow_coordination.journal_catalog()`))
	fresh := fixture.New(t)
	const columns = `select string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable), ';' order by table_name, column_name)
		from information_schema.columns where table_schema = 'dbos'`
	require.Equal(t, scan[string](t, fresh.Connect(t, fresh.OwnerURL), columns), scan[string](t, owner, columns))
}

// createCatalog makes the catalog that an older SDK would have left.
func createCatalog(t *testing.T, d *fixture.Database, number int) {
	t.Helper()
	statements, err := dbos.MigrationStatements(journal.Schema, 1)
	require.NoError(t, err)
	owner := d.Connect(t, d.OwnerURL)
	for _, statement := range statements {
		if strings.HasPrefix(statement, fmt.Sprintf("-- Migration %d", number+1)) {
			break
		}
		_, err := owner.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, statement)
	}
	require.Equal(t, number, scan[int](t, owner, `select version from dbos.dbos_migrations`))
}

// C3: one database, one application.
func TestASecondApplicationIsRefused(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	d.Exec(t, d.OwnerURL, `update dbos.dbos_migrations set version = 107`) // and not even the catalog is touched
	before := shape(t, d)
	config := d.MigrateConfig(t)
	config.Service.Application = "kesita-store"
	_, err := migrate.Run(t.Context(), config)
	require.ErrorIs(t, err, schema.ErrOtherApplication)
	require.ErrorContains(t, err, fixture.Application)
	require.ErrorContains(t, err, "kesita-store")
	require.Equal(t, before, shape(t, d))
}

// F6: a migration that forgets the guard fails by the table's name, and fails again until a later one puts it right.
// Nobody but the owner may use the table so long.
func TestAMigrationThatForgetsTheGuardIsRefusedUntilItIsPutRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ forget, object, repair string }{
		"NewTable": {
			`create table shop.refund (id text primary key);`,
			"shop.refund", `select workflow_coordination.guard_table('shop.refund');`,
		},
		"NewPartition": {
			`create table shop.ledger (id text) partition by hash (id);
			 select workflow_coordination.guard_table('shop.ledger');
			 create table shop.ledger_0 partition of shop.ledger for values with (modulus 1, remainder 0);`,
			"shop.ledger_0", `select workflow_coordination.guard_table('shop.ledger_0');`,
		},
		"AttachedPartition": {
			`create table shop.ledger (id text) partition by hash (id);
			 select workflow_coordination.guard_table('shop.ledger');
			 create table shop.loose (id text);
			 alter table shop.ledger attach partition shop.loose for values with (modulus 1, remainder 0);`,
			"shop.loose", `select workflow_coordination.guard_table('shop.loose');`,
		},
		"GuardTakenAway": {
			`drop trigger workflow_lease_guard on shop.orders;`,
			"shop.orders", `select workflow_coordination.guard_table('shop.orders');`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.New(t)
			config := d.MigrateConfig(t)
			files := copyOf(t, config.Service.Migrations)
			config.Service.Migrations = files

			files["00003_forget.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + c.forget)}
			for range 2 {
				_, err := migrate.Run(t.Context(), config)
				require.Equal(t, "KF007", state(err), err)
				require.ErrorContains(t, err, c.object)
			}
			files["00004_repair.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + c.repair)}
			result, err := migrate.Run(t.Context(), config)
			require.NoError(t, err)
			require.Equal(t, []string{"00004_repair.sql"}, result.Applied)
		})
	}
}

func copyOf(t *testing.T, files fs.FS) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	names, err := fs.Glob(files, "*.sql")
	require.NoError(t, err)
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

// K13: the owner's password crosses no network in the open, and no error holds it.
func TestAMigrationOverAnUnverifiedNetworkIsRefused(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]error{
		"postgres://owner:secret@db.example/shop":                 guard.ErrPlaintext,
		"postgres://owner:secret@db.example/shop?sslmode=require": guard.ErrPlaintext,
		"postgres://owner:secret@db.example:x/shop":               nil,
	} {
		_, err := migrate.Run(t.Context(), migrate.Config{OwnerURL: url})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		if want != nil {
			require.ErrorIs(t, err, want)
		}
	}
}
