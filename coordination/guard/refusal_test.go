package guard_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func replaceWorker(sql, worker string) string { return strings.ReplaceAll(sql, "{{worker}}", worker) }

// F2: every kind of write of a worker's session is refused unless its executor holds a valid lease, at every
// isolation level, with the reason in the SQLSTATE, and leaves nothing behind.
func TestEveryWriteOfAnExecutorWithoutAValidLeaseIsRefused(t *testing.T) {
	t.Parallel()
	d := newStage(t)
	owner := d.Connect(t, d.OwnerURL)
	all := append(writings(), journalWritings(t, owner)...)
	before := scan[string](t, owner, contentSQL)
	for _, c := range claimants(d) {
		t.Run(c.name, func(t *testing.T) {
			conn := c.open(t)
			for _, isolation := range isolations() {
				for _, w := range all {
					tx := begin(t, conn, isolation)
					require.Equal(t, c.refusal, state(w.run(t.Context(), tx)), "%s, %s", w.name, isolation)
					require.NoError(t, tx.Rollback(t.Context()))
				}
			}
			require.Equal(t, before, scan[string](t, owner, contentSQL))
		})
	}
}

// F2: the same statements pass for an executor with a valid lease.
func TestEveryWriteOfAValidExecutorPasses(t *testing.T) {
	t.Parallel()
	d := newStage(t)
	owner := d.Connect(t, d.OwnerURL)
	requireAllPass(t, d.As(t, d.Executor(t, longLease)), append(writings(), journalWritings(t, owner)...))
}

// F4, K2: only logins in the list of workers are guarded; the others need no identity.
func TestMigratorAPIAndReaderLoginsAreNotGuarded(t *testing.T) {
	t.Parallel()
	d := newStage(t)
	owner := d.Connect(t, d.OwnerURL)
	requireAllPass(t, owner, append(writings(), journalWritings(t, owner)...))
	d.Exec(t, d.OwnerURL, replaceWorker(`grant insert, update, delete, truncate on all tables in schema shop, dbos to "{{worker}}"`, d.API.Name))
	requireAllPass(t, d.Connect(t, d.APIURL), append(writings(), journalWritings(t, owner)...))

	reader := d.Connect(t, d.ReaderURL)
	require.Equal(t, 1, scan[int](t, reader, `select count(*) from shop.orders`))
	require.Equal(t, "42501", state(write(t, begin(t, reader, pgx.ReadCommitted)))) // its ordinary lack of privilege
}

// F4: an ordinary login that happens to carry an identity keeps its ordinary authorization.
func TestAnIdentityOnAnUnlistedLoginChangesNothing(t *testing.T) {
	t.Parallel()
	d := newStage(t)
	conn := d.Connect(t, d.APIURL)
	_, err := conn.Exec(t.Context(), `set kesita.executor_id = 'nobody'`)
	require.NoError(t, err)
	require.NoError(t, write(t, begin(t, conn, pgx.ReadCommitted)))
}

// requireAllPass runs each write in a transaction of its own and takes it back.
func requireAllPass(t *testing.T, conn *pgx.Conn, all []writing) {
	t.Helper()
	for _, isolation := range isolations() {
		for _, w := range all {
			tx := begin(t, conn, isolation)
			require.NoError(t, w.run(t.Context(), tx), "%s, %s", w.name, isolation)
			require.NoError(t, tx.Rollback(t.Context()))
		}
	}
}
