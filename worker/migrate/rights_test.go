package migrate_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/migrate"
)

// K1, K2: a worker owns nothing, and nothing that the fence consists of is in its reach, valid lease or not.
func TestAWorkerCannotChangeTheFence(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	worker := d.As(t, d.Executor(t, lease))
	before := shape(t, d)
	for _, sql := range []string{
		`create or replace trigger workflow_lease_guard before insert on shop.orders for each statement when (false) execute function workflow_coordination.guard_write()`,
		`create trigger mine before insert on dbos.workflow_status for each row execute function suppress_redundant_updates_trigger()`,
		`alter table shop.orders disable trigger workflow_lease_guard`,
		`alter table dbos.workflow_status disable trigger all`,
		`alter table shop.orders add column mine text`,
		`drop trigger workflow_lease_guard on shop.orders`,
		`drop table shop.orders`,
		`drop schema workflow_coordination cascade`,
		`truncate shop.orders`,
		`create rule mine as on insert to shop.orders do instead nothing`,
		`insert into workflow_coordination.executor (executor_id) values (gen_random_uuid())`,
		`update workflow_coordination.executor set expires_at = 'infinity'`,
		`update workflow_coordination.executor set state = 'active'`,
		`delete from workflow_coordination.executor`,
		`select from workflow_coordination.executor for update`,
		`do $$ begin lock table workflow_coordination.executor; end $$`,
		`delete from workflow_coordination.worker_login`,
		`update workflow_coordination.application set application_name = 'mine'`,
		`insert into workflow_coordination.takeover default values`,
		`update dbos.dbos_migrations set version = 114`,
		`create or replace function workflow_coordination.guard_write() returns trigger language plpgsql as 'begin return null; end'`,
		`alter function workflow_coordination.guard_write() owner to current_user`,
		`select workflow_coordination.guard_table('shop.orders')`,
		`create table shop.mine (id int)`,
		`create table public.mine (id int)`,
		`create temporary table mine (id int)`,
		`create schema mine`,
		`set role "` + d.Owner.Name + `"`,
		`set session authorization "` + d.API.Name + `"`,
	} {
		_, err := worker.Exec(t.Context(), sql)
		require.Equal(t, "42501", state(err), "%s: %v", sql, err)
	}
	require.Equal(t, before, shape(t, d))
}

// K2: the other logins get what they need and no more.
func TestOtherLoginsCannotLeadALeaseNorChangeTheFence(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	executor := d.Executor(t, lease)
	for name, url := range map[string]string{"api": d.APIURL, "reader": d.ReaderURL} {
		t.Run(name, func(t *testing.T) {
			conn := d.Connect(t, url)
			require.Equal(t, 1, scan[int](t, conn, `select count(*) from workflow_coordination.executor`)) // O3
			for _, sql := range []string{
				`select workflow_coordination.renew_executor('` + executor.String() + `')`,
				`select workflow_coordination.release_executor('` + executor.String() + `')`,
				`select workflow_coordination.recover_executor(gen_random_uuid(), '` + executor.String() + `', 4, 100)`,
				`select workflow_coordination.end_sessions('` + executor.String() + `')`,
				`select workflow_coordination.register_executor(gen_random_uuid(), 'kesita-shop', 'v', 1000, 100, '', '')`,
				`select workflow_coordination.install_journal_guards()`,
				`update workflow_coordination.executor set state = 'revoked'`,
				`alter table shop.orders disable trigger workflow_lease_guard`,
				`create table shop.mine (id int)`,
			} {
				_, err := conn.Exec(t.Context(), sql)
				require.Equal(t, "42501", state(err), "%s: %v", sql, err)
			}
		})
	}
	_, err := d.Connect(t, d.ReaderURL).Exec(t.Context(), `insert into shop.orders values ('read', 'only', 1)`)
	require.Equal(t, "42501", state(err))
	_, err = d.Connect(t, d.ReaderURL).Exec(t.Context(), `delete from dbos.workflow_status`)
	require.Equal(t, "42501", state(err))
}

// K4: a scanner may end the sessions of an executor that is over, and of nobody else.
func TestAWorkerMayEndTheSessionsOfALostPeerOnly(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	lost, alive := d.Executor(t, lease), d.Executor(t, lease)
	frozen, busy := d.As(t, lost), d.As(t, alive)
	scanner := d.As(t, d.Executor(t, lease))
	require.Zero(t, scan[int](t, scanner, `select workflow_coordination.end_sessions($1)`, lost))
	d.Expire(t, lost)
	require.Positive(t, scan[int](t, scanner, `select workflow_coordination.end_sessions($1)`, lost))
	require.Zero(t, scan[int](t, scanner, `select workflow_coordination.end_sessions($1)`, alive))
	_, err := frozen.Exec(t.Context(), `select 1`)
	require.Error(t, err)
	require.Equal(t, 1, scan[int](t, busy, `select 1`))
}

// K2: what the administrator does once may be repeated: it sets the passwords and keeps everything else.
func TestBootstrapMayBeRepeated(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	before := shape(t, d)
	again := migrate.Bootstrap{
		AdminURL: d.AdminURL, Database: d.Name, Owner: d.Owner, API: d.API, Reader: d.Reader,
		Worker: migrate.Login{Name: d.Worker.Name, Password: `it's a "new" one`},
	}
	require.NoError(t, again.Create(t.Context()))
	require.Equal(t, before, shape(t, d))
	_, err := pgx.Connect(t.Context(), d.WorkerURL)
	require.Equal(t, "28P01", state(err))
	require.Equal(t, 1, scan[int](t, d.Connect(t, d.Server.URL(d.Worker.Name, again.Worker.Password, d.Name)), `select 1`))
}

// K1: workers keep working while their database is migrated again: nothing that they hold stands in its way, so
// nothing of theirs queues up behind it.
func TestAMigrationThatHasNothingToDoWaitsForNoWorker(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	executor, lost := d.Executor(t, lease), d.Executor(t, lease)
	d.Expire(t, lost)
	for _, sql := range []string{
		`insert into shop.orders (id) values ('open')`,
		`update dbos.workflow_status set name = name where false`,
		`delete from dbos.queues where false`,
		`select workflow_coordination.renew_executor('` + executor.String() + `')`,
		`select * from workflow_coordination.recovery_candidates('` + executor.String() + `', 100, '{}')`,
		`select * from workflow_coordination.recover_executor('` + executor.String() + `', '` + lost.String() + `', 4, 100)`,
	} {
		session := d.As(t, executor)
		_, err := session.Exec(t.Context(), `set idle_in_transaction_session_timeout = 0`)
		require.NoError(t, err)
		tx, err := session.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	config := d.MigrateConfig(t)
	config.OwnerURL += "&lock_timeout=500"
	_, err := migrate.Run(t.Context(), config)
	require.NoError(t, err)
}

// K1: and the whole of a real worker survives it.
func TestARunningWorkerSurvivesAMigration(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: coordination.ProductionTiming(),
		Environ: []string{},
	})
	require.NoError(t, err)
	require.NoError(t, rt.AddQueue(coordination.Queue{Name: "orders", Concurrency: 2}))
	require.NoError(t, rt.Launch(t.Context()))
	pool, err := rt.ConfigurePool(t.Context(), d.WorkerURL, 2)
	require.NoError(t, err)
	for range 3 {
		d.Migrate(t)
		_, err := pool.Exec(t.Context(), `insert into shop.orders (id) values (gen_random_uuid()::text)`)
		require.NoError(t, err)
		_, err = rt.CheckLease(t.Context())
		require.NoError(t, err)
	}
	select {
	case <-rt.Verdict():
		require.Fail(t, "the watchdog gave the worker up")
	default:
	}
	require.NoError(t, rt.Shutdown(t.Context()))
}

// K1: a function is open to everybody when it is made; none may stay so, and none that runs as the owner may look up
// names where its caller wants.
func TestTheOwnersFunctionsAreClosedAndPinned(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)
	const functions = `select coalesce(string_agg(p.oid::regprocedure::text, '; '), '') from pg_proc p
		where p.pronamespace = 'workflow_coordination'::regnamespace and `
	require.Empty(t, scan[string](t, owner, functions+`has_function_privilege('public', p.oid, 'EXECUTE')`))
	require.Empty(t, scan[string](t, owner, functions+`not coalesce(p.proconfig @> array['search_path=pg_catalog, pg_temp'], false)`))
	require.Empty(t, scan[string](t, owner, functions+`p.proowner <> $1::regrole`, d.Owner.Name))
	require.Empty(t, scan[string](t, owner, `select coalesce(string_agg(c.oid::regclass::text, '; '), '') from pg_class c
		where c.relnamespace in ('workflow_coordination'::regnamespace, 'dbos'::regnamespace, 'shop'::regnamespace)
		and c.relkind in ('r', 'p', 'v') and has_table_privilege('public', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')`))
}
