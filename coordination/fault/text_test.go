package fault_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/localpg"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

const planted = "s3cret-patient"

// O1: whatever a real server or the driver says about a value, the log does not get the value.
func TestTheTextOfAFaultNeverHoldsAValue(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), localpgtest.Shared(t).AdminURL(localpg.Superuser))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	_, err = conn.Exec(t.Context(), `create temporary table t (id text primary key, n int check (n > 0), m int not null)`)
	require.NoError(t, err)
	exec := func(sql string, args ...any) error {
		_, err := conn.Exec(t.Context(), sql, args...)
		return err
	}
	require.NoError(t, exec(`insert into t values ($1, 1, 1)`, planted))
	var number int
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"unique":          {exec(`insert into t values ($1, 1, 1)`, planted), "23505"},
		"check":           {exec(`insert into t values ($1, -1, 1)`, planted), "23514"},
		"not null":        {exec(`insert into t values ($1, 1, null)`, planted), "23502"},
		"cast":            {exec(`select $1::text::int`, planted), "22P02"},
		"json":            {exec(`select $1::text::jsonb`, planted), "22P02"},
		"date":            {exec(`select $1::text::date`, planted), "22007"},
		"raised":          {exec(`do $$ begin raise exception 'no room for s3cret-patient'; end $$`), "P0001"},
		"argument":        {exec(`select $1::int`, struct{ Name string }{planted}), "encode"},
		"array":           {exec(`select $1::int[]`, []string{planted}), "22P02"},
		"scan":            {conn.QueryRow(t.Context(), `select $1::text`, planted).Scan(&number), "scan"},
		"deep in a chain": {fmt.Errorf("settle: %w", errors.Join(errors.New("a"), exec(`select $1::text::int`, planted))), "settle"},
	} {
		require.Error(t, c.err, name)
		require.NotContains(t, fault.Text(c.err), planted, name)
		require.Contains(t, fault.Text(c.err), c.says, name)
	}
}

// No secret, and no connection string either, ever leaves with an error (O1).
func TestTheTextOfAFaultNeverHoldsAConnectionString(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://worker:" + planted + "@host:port/db", "postgres://worker:x@" + planted + ":y@[::1/db",
		"host=h user=u password=" + planted + " sslmode=never", "postgres://u:p" + "/" + planted + "@h/db?x=%zz",
	} {
		_, err := pgx.ParseConfig(url)
		require.Error(t, err, url)
		require.Equal(t, "database url: "+"(withheld)", fault.Text(fmt.Errorf("database url: %w", err)))
	}
}

// What somebody needs to act on is kept.
func TestTheTextOfAFaultKeepsWhatNamesThings(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		state("KF001", "write refused: lease of executor x expired"), state("42501", "permission denied for table orders"),
		state("3D000", `database "shop" does not exist`), errors.New("watchdog: lease_lost"),
	} {
		require.Equal(t, err.Error(), fault.Text(err))
	}
	require.Equal(t, "ERROR: (withheld) (SQLSTATE 22P02)", fault.Text(state("22P02", "invalid: x")))
	require.Equal(t, "ERROR:  (SQLSTATE XX000)", fault.Text(&pgconn.PgError{Severity: "ERROR", Code: "XX000"}))
	require.Empty(t, fault.Text(nil))
	require.Len(t, fault.Text(errors.New(strings.Repeat("long", 1000))), 503)
}
