package migrate_test

import (
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

const lease = 600_000 // milliseconds; longer than any test

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

func state(err error) string {
	if pg, is := errors.AsType[*pgconn.PgError](err); is {
		return pg.Code
	}
	return ""
}

func scan[T any](t *testing.T, conn *pgx.Conn, query string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&value))
	return value
}

// shapeSQL is a fingerprint of everything that a migration could change, object identities included.
const shapeSQL = `select md5(concat(
	(select string_agg(concat(c.oid, c.relname, c.relowner, c.relacl), ';' order by c.oid) from pg_class c
	  where c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)),
	(select string_agg(concat(a.attrelid, a.attname, a.atttypid, a.attacl), ';' order by a.attrelid, a.attnum) from pg_attribute a
	   join pg_class c on c.oid = a.attrelid where c.relnamespace::regnamespace::text in ('shop', 'dbos', 'workflow_coordination')),
	(select string_agg(concat(p.oid, p.prosrc, p.proacl, p.prosecdef, p.proconfig), ';' order by p.oid) from pg_proc p
	  where p.pronamespace <> 'pg_catalog'::regnamespace),
	(select string_agg(concat(g.oid, g.tgenabled, g.tgtype), ';' order by g.oid) from pg_trigger g),
	(select string_agg(concat(n.oid, n.nspname, n.nspacl), ';' order by n.oid) from pg_namespace n where n.nspname not like 'pg\_%'),
	(select d.datacl from pg_database d where d.datname = current_database()),
	(select string_agg(w::text, ';' order by w.login) from workflow_coordination.worker_login w),
	(select string_agg(m.version_id::text, ';' order by m.id) from workflow_coordination.migration m),
	(select a::text from workflow_coordination.application a),
	(select v::text from dbos.dbos_migrations v)))`

func shape(t *testing.T, d *fixture.Database) string {
	t.Helper()
	return scan[string](t, d.Connect(t, d.AdminURL), shapeSQL)
}
