package localpgtest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) {
	os.Exit(localpgtest.Main(m, func() error { return goleak.Find() }))
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	server := localpgtest.Shared(t)

	t.Run("EachTestGetsItsOwnEmptyDatabaseOnTheOneServer", func(t *testing.T) {
		t.Parallel()
		require.Same(t, server, localpgtest.Shared(t))
		first, firstURL := localpgtest.Database(t, server)
		second, secondURL := localpgtest.Database(t, server)
		require.NotEqual(t, first, second)

		connection := connect(t, firstURL)
		_, err := connection.Exec(t.Context(), `create table mark (id int)`)
		require.NoError(t, err)
		_, err = connect(t, secondURL).Exec(t.Context(), `select from mark`)
		require.ErrorContains(t, err, "does not exist")
	})

	t.Run("TheDatabaseGoesWithItsTestThoughSessionsAreOpen", func(t *testing.T) {
		t.Parallel()
		var name string
		var open *pgx.Conn
		t.Run("inner", func(t *testing.T) {
			var url string
			name, url = localpgtest.Database(t, server)
			var err error
			open, err = pgx.Connect(t.Context(), url)
			require.NoError(t, err)
		})
		require.Error(t, open.Ping(t.Context()))
		var left int
		row := connect(t, server.AdminURL("postgres")).QueryRow(t.Context(), `select count(*) from pg_database where datname = $1`, name)
		require.NoError(t, row.Scan(&left))
		require.Zero(t, left)
	})
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(t.Context()) })
	return connection
}
