package guard_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func replaceWorker(sql, worker string) string { return strings.ReplaceAll(sql, "{{worker}}", worker) }

// F2, F4, K2: which writes the guard refuses, and to whom.
func TestRefusal(t *testing.T) {
	t.Parallel()
	d := newStage(t)
	owner := d.Connect(t, d.OwnerURL)
	all := append(writings(), journalWritings(t, owner)...)

	// At every isolation level, with the reason in the SQLSTATE, and nothing is left behind.
	t.Run("EveryWriteWithoutAValidLeaseIsRefused", func(t *testing.T) {
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
	})

	t.Run("EveryWriteOfAValidExecutorPasses", func(t *testing.T) {
		requireAllPass(t, d.As(t, d.Executor(t, longLease)), all)
	})

	t.Run("TheMigratorIsNotGuarded", func(t *testing.T) {
		requireAllPass(t, owner, all)
	})

	t.Run("TheAPILoginIsNotGuarded", func(t *testing.T) {
		d.Exec(t, d.OwnerURL, replaceWorker(`grant truncate on all tables in schema shop, dbos to "{{worker}}"`, d.API.Name))
		d.Exec(t, d.OwnerURL, replaceWorker(`grant select, insert, update, delete on all tables in schema shop to "{{worker}}"`, d.API.Name))
		requireAllPass(t, d.Connect(t, d.APIURL), all)
	})

	t.Run("TheReaderKeepsItsOrdinaryAuthorization", func(t *testing.T) {
		reader := d.Connect(t, d.ReaderURL)
		require.Equal(t, 1, scan[int](t, reader, `select count(*) from shop.orders`))
		require.Equal(t, "42501", state(write(t, begin(t, reader, pgx.ReadCommitted))))
	})

	t.Run("AnIdentityOnAnUnlistedLoginChangesNothing", func(t *testing.T) {
		conn := d.Connect(t, d.APIURL)
		_, err := conn.Exec(t.Context(), `set kesita.executor_id = 'nobody'`)
		require.NoError(t, err)
		require.NoError(t, write(t, begin(t, conn, pgx.ReadCommitted)))
	})
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
