// Package producttest gives tests a migrated product database of their own and
// the rows that most of them start from. Tests only. It applies the same SQL as
// the migrator, in the same order, as the server's superuser, who is no worker
// and therefore unguarded (F4). It fails the test when anything goes wrong.
package producttest

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/task"
)

// Text is a document that the shipped provider can summarise.
const Text = "The harbour closes when the wind is above nine. Ships wait outside the harbour until the wind falls. " +
	"The wind is measured on the tower every minute. Coffee is served at ten."

// Database is a migrated product database, open for the life of the test.
type Database struct {
	*pgxpool.Pool
	Name string
	URL  string
}

// Open creates and migrates a database. The package's TestMain must call
// localpgtest.Main.
func Open(t testing.TB) Database {
	t.Helper()
	name, url := localpgtest.Database(t, localpgtest.Shared(t))
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := schema.Apply(t.Context(), tx, "kesita-product"); err != nil {
			return err
		}
		files, err := fs.Glob(product.Migrations, "migrations/*.sql")
		for _, file := range files {
			statements, readErr := fs.ReadFile(product.Migrations, file)
			require.NoError(t, readErr)
			up, _, _ := strings.Cut(string(statements), "-- +goose Down")
			if _, err := tx.Exec(t.Context(), up); err != nil {
				return err
			}
		}
		return err
	})
	require.NoError(t, err)
	return Database{Pool: pool, Name: name, URL: url}
}

// Task creates a tenant, a document with Text, and a queued task.
func (d Database) Task(t testing.TB) task.Input {
	t.Helper()
	tenant, err := store.EnsureTenant(t.Context(), d, "tenant-"+uuid.NewString())
	require.NoError(t, err)
	document, err := store.CreateDocument(t.Context(), d, tenant, "Harbour", Text, "ada")
	require.NoError(t, err)
	in, err := store.CreateTask(t.Context(), d, tenant, document, 1)
	require.NoError(t, err)
	return in
}

// NextGeneration makes every earlier run of the task stale.
func (d Database) NextGeneration(t testing.TB, in task.Input) task.Input {
	t.Helper()
	in.Generation++
	changed, err := d.Exec(t.Context(), `update product.task set generation = $3, state = 'queued', failure_code = null, finished_at = null
		where tenant_id = $1 and task_id = $2`, in.TenantID, in.TaskID, in.Generation)
	require.NoError(t, err)
	require.EqualValues(t, 1, changed.RowsAffected())
	return in
}

// Status reads the task's status.
func (d Database) Status(t testing.TB, in task.Input) store.Status {
	t.Helper()
	status, err := store.TaskStatus(t.Context(), d, in.TenantID, in.TaskID)
	require.NoError(t, err)
	return status
}
