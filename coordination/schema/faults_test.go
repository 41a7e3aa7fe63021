package schema_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/migrate"
)

// hole is one way past the fence. The owner makes it, or the administrator where a statement begins with "admin:". In
// the statements, W is the worker login, O the owner, D the database.
type hole struct {
	name, kind, object string
	open, shut         []string
}

func tableHoles() []hole {
	const (
		replace = `create or replace trigger workflow_lease_guard before `
		execute = ` on shop.orders for each statement execute function workflow_coordination.guard_write()`
		always  = `alter table shop.orders enable always trigger workflow_lease_guard`
	)
	whole := []string{replace + `insert or update or delete or truncate` + execute, always}
	bare := `create table shop.bare (id text, amount integer)`
	gone := []string{`drop table shop.bare cascade`}
	return []hole{
		{"NewTable", "unguarded_table", "shop.bare", []string{bare, `grant insert on shop.bare to W`}, gone},
		{"NewTableOpenToEverybody", "unguarded_table", "shop.bare", []string{bare, `grant delete on shop.bare to public`}, gone},
		{"NewTableInAnotherSchema", "unguarded_table", "public.bare", []string{`admin: create table public.bare (id text)`, `admin: grant truncate on public.bare to W`}, []string{`admin: drop table public.bare`}},
		{"OneColumn", "unguarded_table", "shop.bare", []string{bare, `grant update (amount) on shop.bare to W`}, gone},
		{"TableOfAnotherRole", "unguarded_table", "shop.bare", []string{
			bare, `admin: create role D_crew`, `grant insert on shop.bare to D_crew`, `admin: grant D_crew to W`,
		}, append(gone, `admin: drop role D_crew`)},
		{"TableBehindAView", "unguarded_table", "shop.bare", []string{bare, `create view shop.bare_view as select * from shop.bare`, `grant update on shop.bare_view to W`}, gone},
		{"TableBehindARule", "unguarded_table", "shop.bare", []string{
			bare, `create rule copy as on insert to shop.orders do also insert into shop.bare values (new.id)`,
		}, append([]string{`drop rule copy on shop.orders`}, gone...)},
		{"ForeignTable", "unguarded_table", "shop.far", []string{
			`admin: create foreign data wrapper far`, `admin: create server far foreign data wrapper far`, `admin: create foreign table shop.far (id text) server far`, `admin: grant insert on shop.far to W`,
		}, []string{`admin: drop foreign data wrapper far cascade`}},
		{"GuardDropped", "unguarded_table", "shop.orders", []string{`drop trigger workflow_lease_guard on shop.orders`}, whole},
		{"GuardDisabled", "unguarded_table", "shop.orders", []string{`alter table shop.orders disable trigger workflow_lease_guard`}, []string{always}},
		{"GuardForOrdinarySessionsOnly", "unguarded_table", "shop.orders", []string{`alter table shop.orders enable trigger workflow_lease_guard`}, []string{always}},
		{"GuardForReplicasOnly", "unguarded_table", "shop.orders", []string{`alter table shop.orders enable replica trigger workflow_lease_guard`}, []string{always}},
		{"GuardWithoutTruncate", "unguarded_table", "shop.orders", []string{replace + `insert or update or delete` + execute, always}, whole},
		{"GuardWithoutDelete", "unguarded_table", "shop.orders", []string{replace + `insert or update or truncate` + execute, always}, whole},
		{"GuardOfOneColumn", "unguarded_table", "shop.orders", []string{replace + `insert or update of amount or delete or truncate` + execute, always}, whole},
		{"GuardUnderACondition", "unguarded_table", "shop.orders", []string{
			replace + `insert or update or delete or truncate on shop.orders for each statement when (current_user <> 'W') execute function workflow_coordination.guard_write()`, always,
		}, whole},
		{"GuardOfAnotherFunction", "unguarded_table", "shop.orders", []string{
			`create function shop.guard_write() returns trigger language plpgsql as 'begin return null; end'`,
			replace + `insert or update or delete or truncate on shop.orders for each statement execute function shop.guard_write()`, always,
		}, append(whole, `drop function shop.guard_write()`)},
		{"NewPartition", "unguarded_table", "shop.ledger_2", []string{
			`create table shop.ledger_2 partition of shop.ledger for values in ('2')`, `grant insert on shop.ledger_2 to W`,
		}, []string{`drop table shop.ledger_2`}},
		{"AttachedPartition", "unguarded_table", "shop.bare", []string{bare, `alter table shop.ledger attach partition shop.bare for values in ('3')`, `grant insert on shop.bare to W`}, gone},
	}
}

func privilegeHoles() []hole {
	return []hole{
		{"WorkerOwnsATable", "owned_by_worker", "shop.orders", []string{`admin: alter table shop.orders owner to W`}, []string{`admin: alter table shop.orders owner to O`}},
		{"TriggerPrivilege", "trigger_privilege", "shop.orders", []string{`grant trigger on shop.orders to W`}, []string{`revoke trigger on shop.orders from W`}},
		{"TriggerPrivilegeOnTheJournal", "trigger_privilege", "dbos.workflow_status", []string{`grant trigger on dbos.workflow_status to W`}, []string{`revoke trigger on dbos.workflow_status from W`}},
		{"WriteOnTheLeaseTable", "lease_table_writable", "workflow_coordination.executor", []string{`grant update on workflow_coordination.executor to W`}, []string{`revoke update on workflow_coordination.executor from W`}},
		{"OneColumnOfTheLeaseTable", "lease_table_writable", "workflow_coordination.executor", []string{`grant update (expires_at) on workflow_coordination.executor to W`}, []string{`revoke update (expires_at) on workflow_coordination.executor from W`}},
		{"WriteOnTheListOfWorkers", "lease_table_writable", "workflow_coordination.worker_login", []string{`grant delete on workflow_coordination.worker_login to W`}, []string{`revoke delete on workflow_coordination.worker_login from W`}},
		{"ViewOnTheLeaseTable", "lease_table_writable", "workflow_coordination.executor", []string{
			`create view shop.leases as select * from workflow_coordination.executor`, `grant update on shop.leases to W`,
		}, []string{`drop view shop.leases`}},
		{"WriteOnEverything", "lease_table_writable", "workflow_coordination.executor", []string{`admin: grant pg_write_all_data to W`}, []string{`admin: revoke pg_write_all_data from W`}},
		{"CreateInASchema", "worker_can_create", "shop", []string{`grant create on schema shop to W`}, []string{`revoke create on schema shop from W`}},
		{"CreateInTheDatabase", "worker_can_create", "D", []string{`grant create on database D to W`}, []string{`revoke create on database D from W`}},
		{"Superuser", "worker_privileged", "W", []string{`admin: alter role W superuser`}, []string{`admin: alter role W nosuperuser`}},
		{"Replication", "worker_privileged", "W", []string{`admin: alter role W replication`}, []string{`admin: alter role W noreplication`}},
		{"MayCreateRoles", "worker_privileged", "W", []string{`admin: alter role W createrole`}, []string{`admin: alter role W nocreaterole`}},
		{"MemberOfASuperuser", "worker_privileged", "W", []string{`admin: create role D_root superuser`, `admin: grant D_root to W`}, []string{`admin: drop role D_root`}},
		{"MemberOfTheOwner", "worker_is_owner", "W", []string{`admin: revoke W from O`, `admin: grant O to W`}, []string{`admin: revoke O from W`, `admin: grant W to O`}},
		{"UnknownLogin", "worker_missing", "ghost", []string{`insert into workflow_coordination.worker_login values ('ghost')`}, []string{`delete from workflow_coordination.worker_login where login = 'ghost'`}},
		{"SecondWorkerLogin", "unguarded_table", "shop.bare", []string{
			`create table shop.bare (id text)`, `admin: create role D_second`, `insert into workflow_coordination.worker_login values ('D_second')`, `grant insert on shop.bare to D_second`,
		}, []string{`drop table shop.bare`, `delete from workflow_coordination.worker_login where login = 'D_second'`, `admin: drop role D_second`}},
	}
}

// site is a database with the sessions that change it.
type site struct {
	*fixture.Database
	owner, admin *pgx.Conn
}

func newSite(t *testing.T) site {
	t.Helper()
	d := fixture.New(t)
	return site{Database: d, owner: d.Connect(t, d.OwnerURL), admin: d.Connect(t, d.AdminURL)}
}

// F6, K1, K2: whatever would let a worker's write past the fence is found at every migration and at every start, by
// name, and neither goes on.
func TestAHoleInTheFenceIsFoundByMigrationAndByStart(t *testing.T) {
	t.Parallel()
	for group, holes := range map[string][]hole{"Table": tableHoles(), "Privilege": privilegeHoles()} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.run(t, `create table shop.ledger (id text, amount integer) partition by list (id)`,
				`select workflow_coordination.guard_table('shop.ledger')`)
			require.Empty(t, s.faults(t))
			for _, h := range holes {
				t.Run(h.name, func(t *testing.T) {
					s.run(t, h.open...)
					s.requireHole(t, h.kind, s.names().Replace(h.object))
					s.run(t, h.shut...)
					require.Empty(t, s.faults(t))
				})
			}
			_, err := migrate.Run(t.Context(), s.MigrateConfig(t))
			require.NoError(t, err)
			require.NoError(t, s.start(t))
		})
	}
}

// K4: a prepared transaction outlives its session and every timeout, and holds its executor's lease row.
func TestAPreparedTransactionOfAWorkerIsFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	executor, scanner := s.Executor(t, 600_000), s.Executor(t, 600_000)
	conn := s.As(t, executor)
	for _, sql := range []string{`begin`, `insert into shop.orders (id) values ('prepared')`, `prepare transaction '` + s.Name + `'`} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	s.Expire(t, executor)
	var outcome string
	require.NoError(t, s.As(t, scanner).QueryRow(t.Context(), `select outcome from workflow_coordination.recover_executor($1, $2, 4, 100)`, scanner, executor).Scan(&outcome))
	require.Equal(t, "busy", outcome)

	s.requireHole(t, "prepared_transaction", s.Name)
	s.run(t, `admin: rollback prepared 'D'`)
	require.Empty(t, s.faults(t))
}

// C7: the journal's guards are the start's to install; the business tables' are the migration's.
func TestAJournalTableThatLostItsGuardGetsItBackAtTheNextStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.run(t, `drop trigger workflow_lease_guard on dbos.workflow_status`,
		`alter table dbos.streams disable trigger workflow_lease_guard`,
		`alter table dbos.queues enable trigger workflow_lease_guard`)
	require.ElementsMatch(t, []string{"unguarded_table dbos.workflow_status", "unguarded_table dbos.streams", "unguarded_table dbos.queues"}, s.faults(t))
	require.NoError(t, s.start(t))
	require.Empty(t, s.faults(t))
}

func (s site) requireHole(t *testing.T, kind, object string) {
	t.Helper()
	require.Contains(t, s.faults(t), kind+" "+object)

	_, err := migrate.Run(t.Context(), s.MigrateConfig(t))
	requireNamed(t, err, object)

	err = s.start(t)
	requireNamed(t, err, object)
	require.Equal(t, boot.Verdict{Reason: signal.GuardsIncomplete, ExitCode: boot.ExitSchema}, boot.Judge(err))
}

func requireNamed(t *testing.T, err error, object string) {
	t.Helper()
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg)
	require.Equal(t, "KF007", pg.Code, err)
	require.Equal(t, fault.GuardsIncomplete, fault.Of(err))
	require.Contains(t, pg.Message, object)
}

// start opens a worker and ends it again. With production's patience: the machine may be busy.
func (s site) start(t *testing.T) error {
	t.Helper()
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: s.WorkerURL, Timing: coordination.ProductionTiming(),
		Environ: []string{},
	})
	if err == nil {
		rt.Discard(t.Context())
	}
	return err
}

// faults is what the database says, as "kind object".
func (s site) faults(t *testing.T) []string {
	t.Helper()
	rows, err := s.owner.Query(t.Context(), `select kind || ' ' || object from workflow_coordination.faults()`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

func (s site) run(t *testing.T, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		conn := s.owner
		if admin, is := strings.CutPrefix(sql, "admin: "); is {
			sql, conn = admin, s.admin
		}
		_, err := conn.Exec(t.Context(), s.names().Replace(sql))
		require.NoError(t, err, sql)
	}
}

// names puts the database's own names in place of single capital letters.
func (s site) names() *strings.Replacer {
	return strings.NewReplacer("W", s.Worker.Name, "O", s.Owner.Name, "D", s.Name)
}
