package journal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
)

// reviewedCatalog is the digest of every statement by which DBOS Go 1.4.0 creates catalog 113. When it differs, the
// adapter is to be reviewed before the number: which tables the SDK writes, which columns recovery must keep or clear,
// which statuses there are, and how a claim counts.
const reviewedCatalog = "bfbc1b8a43a81d5e3d1f962018c5dc21ec68d9009602dfb195721da4b414d3ca"

// C7: an SDK with another catalog is noticed here, not in production.
func TestTheCatalogOfTheSDKIsTheReviewedOne(t *testing.T) {
	t.Parallel()
	statements, err := dbos.MigrationStatements(journal.Schema, 1)
	require.NoError(t, err)
	digest := sha256.Sum256([]byte(strings.Join(statements, "\n")))
	require.Equal(t, reviewedCatalog, hex.EncodeToString(digest[:]))
	require.Equal(t, fmt.Sprintf("UPDATE %q.dbos_migrations SET version = %d;", journal.Schema, journal.Catalog), statements[len(statements)-1])
}

// C7: the release that the messages name is the one that is linked.
func TestTheNamedSDKReleaseIsTheLinkedOne(t *testing.T) {
	t.Parallel()
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/dbos-inc/dbos-transact-golang").Output()
	require.NoError(t, err)
	require.Equal(t, "v"+journal.SDKVersion, strings.TrimSpace(string(version)))
}

// C7, F2: the guarded tables are exactly those of the journal that a worker can write; the two others belong to the
// migrator.
func TestEveryJournalTableThatAWorkerCanWriteIsGuarded(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)
	list := func(query string, args ...any) []string {
		rows, err := owner.Query(t.Context(), query, args...)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return names
	}
	const tables = `select c.oid::regclass::text from pg_class c where c.relnamespace = 'dbos'::regnamespace and c.relkind in ('r', 'p') `
	guarded := list(`select workflow_coordination.journal_tables()`)
	require.Len(t, guarded, 11)
	require.ElementsMatch(t, guarded, list(tables+`and has_table_privilege($1, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')`, d.Worker.Name))
	require.ElementsMatch(t, guarded, list(tables+`and workflow_coordination.is_guarded(c.oid)`))
	require.ElementsMatch(t, append(guarded, "dbos.dbos_migrations", "dbos.event_dispatch_kv"), list(tables))
}
