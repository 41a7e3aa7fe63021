package doctor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/doctor"
	"github.com/kesita/platform/test/fixture"
)

// X4: on a whole fence every check is made, every bad identity is refused on every table, and nothing is left behind.
func TestAWholeFenceIsProvenWithoutATrace(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	p.exec(t, `create table shop.ledger (n bigint generated always as identity, twice bigint generated always as (1) stored, amount int not null)
		partition by list (amount); create table shop.ledger_1 partition of shop.ledger for values in (1)`)
	for _, table := range []string{"shop.ledger", "shop.ledger_1"} {
		p.exec(t, `select workflow_coordination.guard_table('`+table+`')`)
		p.exec(t, `grant select, insert, update, delete on `+table+` to "`+p.Worker.Name+`"`)
	}
	report := p.examine(t, p.WorkerURL)
	require.Empty(t, sick(report), "%+v", report.Findings)
	require.Len(t, report.Findings, len(doctor.Checks()))
	require.Equal(t, doctor.OK, report.Worst())
	require.Equal(t, fixture.Application, report.Application)
	const journal, business = 11, 3
	require.Equal(t, journal+business, report.Proof.Tables)
	const kinds, personas, levels = 3, 8, 2
	require.Equal(t, report.Proof.Tables*kinds*personas*levels, report.Proof.Refusals)
	require.True(t, report.Proof.Made)
	require.Equal(t, p.Worker.Name, report.Proof.Login)
	var left, burnt int
	require.NoError(t, p.owner.QueryRow(t.Context(), `select (select count(*) from workflow_coordination.executor) + (select count(*) from dbos.workflow_status)
		+ (select count(*) from shop.orders), (select count(*) from pg_sequences where last_value is not null and schemaname = 'shop')`).Scan(&left, &burnt))
	require.Zero(t, left)
	require.Zero(t, burnt)
}

// A proof that was not made is never taken for one that succeeded.
func TestWithoutAProofTheReportSaysSo(t *testing.T) {
	t.Parallel()
	p, other := newPatient(t, fixture.Copy(t)), fixture.Copy(t)
	delisted := fixture.New(t)
	delisted.Exec(t, delisted.OwnerURL, `delete from workflow_coordination.worker_login`)
	marked := fixture.New(t)
	marked.Exec(t, marked.AdminURL, `alter role "`+marked.Worker.Name+`" set kesita.executor_id = 'x'`)
	for name, c := range map[string]struct {
		p        patient
		url      string
		severity doctor.Severity
		says     string
	}{
		"NoWorkerLogin":         {p, "", doctor.Warning, "no worker login was given"},
		"LoginOfTheAPI":         {p, p.APIURL, doctor.Error, "is not in the list of worker logins"},
		"AnotherDatabase":       {p, other.WorkerURL, doctor.Error, "leads to another database"},
		"WrongPassword":         {p, strings.Replace(p.WorkerURL, p.Worker.Password, "wrong", 1), doctor.Error, "password authentication failed"},
		"NoURL":                 {p, "postgres://x:y@h:port/z", doctor.Error, "is not valid"},
		"WorkerThatIsNotListed": {newPatient(t, delisted), delisted.WorkerURL, doctor.Error, "is not in the list of worker logins"},
		"IdentityFromTheRole":   {newPatient(t, marked), marked.WorkerURL, doctor.Error, "begin with an executor's identity"},
	} {
		t.Run(name, func(t *testing.T) {
			report := c.p.examine(t, c.url)
			require.False(t, report.Proof.Made)
			require.Zero(t, report.Proof.Refusals)
			found := of(report, doctor.Fence)
			require.Len(t, found, 1)
			require.Equal(t, c.severity, found[0].Severity)
			require.Contains(t, found[0].Detail, c.says)
			require.NotEmpty(t, found[0].Remedy)
		})
	}
}

// A table that somebody else has locked is no hole, and no proof.
func TestATableInUseByAMigrationIsNotTakenForAHole(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	tx, err := p.owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `lock table shop.orders in access exclusive mode`)
	require.NoError(t, err)
	found := of(p.examine(t, p.WorkerURL), doctor.Fence)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Detail, "not proven: table shop.orders is in use by somebody else")
}

// weakness is one way in which a guard lets something through, or refuses what it must not.
type weakness struct {
	name, open string
	object     string // of the finding
	says       string
}

func weaknesses(guard string) []weakness {
	changed := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(guard) }
	const trigger = `create or replace trigger workflow_lease_guard before `
	return []weakness{
		{"TriggerDropped", `drop trigger workflow_lease_guard on shop.orders`, "shop.orders", "let through"},
		{"TriggerDisabled", `alter table dbos.streams disable trigger workflow_lease_guard`, "dbos.streams", "let through"},
		{"NoGuardForDeletes", trigger + `insert or update on shop.orders for each statement execute function workflow_coordination.guard_write()`, "shop.orders", "delete by no identity, an empty identity, garbage as identity, an unknown executor"},
		{"GuardForRowsOnly", `drop trigger workflow_lease_guard on shop.orders; create trigger row_guard before insert or update or delete on shop.orders
			for each row execute function workflow_coordination.guard_write()`, "shop.orders", "let through"},
		{"FunctionThatReturnsNull", changed("if not exists (select from", "return null; if not exists (select from"), "dbos.workflow_status", "let through"},
		{"NoIdentityIsTakenForAnAPI", changed("if claimed is null or claimed", "if claimed is null then return null; end if; if claimed"), "shop.orders", "delete, insert, update by no identity was let through"},
		{"AnEmptyIdentityIsTakenForNone", changed("if claimed is null or claimed", "if claimed = '' then return null; end if; if claimed is null or claimed"), "shop.orders", "by an empty identity was let through"},
		{"UnknownExecutorsMayWrite", changed("perform workflow_coordination.refuse(claimed::uuid);", `if not exists (select from workflow_coordination.executor e
			where e.executor_id = claimed::uuid) then return null; end if; perform workflow_coordination.refuse(claimed::uuid);`), "shop.orders", "by an unknown executor"},
		{"ExpiryIsNotChecked", changed("e.expires_at > clock_timestamp()", "true", "until <= clock_timestamp()", "false"), "shop.orders", "by an expired executor"},
		{"StateIsNotChecked", changed("e.state = 'active'", "true"), "shop.orders", "by a released executor"},
		{"OneIsolationLevelIsForgotten", changed("claimed := current_setting", "if current_setting('transaction_isolation') <> 'read committed' then return null; end if; claimed := current_setting"), "shop.orders", "at repeatable read"},
		{"TransactionsMayLastForEver", changed("bound_ms / 1000.0", "1e9"), "shop.orders", "by a transaction that is too long"},
		{"NobodyMayWrite", changed("if until is null then", "if true then"), "shop.orders", "by a valid executor"},
	}
}

// X4: whatever is weak about a guard, the attempts themselves find it, on the live database.
func TestAWeakenedGuardIsFoundByTrying(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	var guard string
	require.NoError(t, p.owner.QueryRow(t.Context(), `select pg_get_functiondef('workflow_coordination.guard_write()'::regprocedure)`).Scan(&guard))
	for _, w := range weaknesses(guard) {
		t.Run(w.name, func(t *testing.T) {
			require.NotEqual(t, guard, w.open, "the guard was changed")
			p.exec(t, w.open)
			report := p.examine(t, p.WorkerURL)
			require.Equal(t, doctor.Error, report.Worst())
			var details strings.Builder
			for _, f := range of(report, doctor.Fence) {
				require.Equal(t, doctor.Error, f.Severity)
				if f.Object == w.object {
					details.WriteString(f.Detail)
				}
			}
			require.Contains(t, details.String(), w.says)

			p.exec(t, guard)
			p.exec(t, `drop trigger if exists row_guard on shop.orders; select workflow_coordination.guard_table('shop.orders');
				select workflow_coordination.guard_table('dbos.streams')`)
			require.Empty(t, sick(p.examine(t, p.WorkerURL)))
		})
	}
}

// Without a worker's login: holes that the catalog shows are found all the same, a replaced function too.
func TestAWeakenedGuardIsFoundByReading(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	var guard string
	require.NoError(t, p.owner.QueryRow(t.Context(), `select pg_get_functiondef('workflow_coordination.guard_write()'::regprocedure)`).Scan(&guard))
	for _, c := range []struct {
		name, open, shut string
		check            doctor.Check
		object           string
	}{
		{
			"TriggerDropped", `drop trigger workflow_lease_guard on shop.orders`, `select workflow_coordination.guard_table('shop.orders')`,
			doctor.UnguardedTable, "shop.orders",
		},
		{
			"UnguardedPartition", `create table shop.parts (n int) partition by list (n); select workflow_coordination.guard_table('shop.parts');
				create table shop.part_1 partition of shop.parts for values in (1); grant insert on shop.part_1 to "` + p.Worker.Name + `"`,
			`drop table shop.parts`, doctor.UnguardedTable, "shop.part_1",
		},
		{
			"FunctionReplaced", `create or replace function workflow_coordination.guard_write() returns trigger language plpgsql as 'begin return null; end'`, guard,
			doctor.GuardFunction, "workflow_coordination.guard_write",
		},
		{
			"WriteOnTheRegistry", `grant update on workflow_coordination.executor to "` + p.Worker.Name + `"`,
			`revoke update on workflow_coordination.executor from "` + p.Worker.Name + `"`, doctor.WorkerRights, "workflow_coordination.executor",
		},
		{
			"UnknownWorkerLogin", `insert into workflow_coordination.worker_login values ('ghost')`, `delete from workflow_coordination.worker_login where login = 'ghost'`,
			doctor.WorkerRights, "ghost",
		},
		{
			"OldSchema", `update workflow_coordination.application set schema_version = 0`, `update workflow_coordination.application set schema_version = 1`,
			doctor.CoordinationSchema, fixture.Application,
		},
		{"CatalogOfANewerSDK", `update dbos.dbos_migrations set version = 114`, `update dbos.dbos_migrations set version = 113`, doctor.Catalog, "dbos"},
		{
			"FunctionMissing", `drop function workflow_coordination.open_transactions()`, `select 1`,
			doctor.GuardFunction, "workflow_coordination.open_transactions",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, []doctor.Check{doctor.Fence}, sick(p.examine(t, "")))
			p.exec(t, c.open)
			report := p.examine(t, "")
			var objects []string
			for _, f := range of(report, c.check) {
				require.NotEmpty(t, f.Remedy)
				require.NotContains(t, f.Remedy, "{}")
				objects = append(objects, f.Object)
			}
			require.Contains(t, objects, c.object, "%+v", report.Findings)
			p.exec(t, c.shut)
		})
	}
	// the last one is still open: checks that need the function are not silent
	require.Contains(t, of(p.examine(t, ""), doctor.ExpiredExecutor)[0].Detail, "not made")
}

// K4: it outlives its session and every timeout.
func TestAPreparedTransactionOfAWorkerIsFound(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.New(t))
	conn := p.As(t, p.Executor(t, 600_000))
	for _, sql := range []string{`begin`, `insert into shop.orders (id) values ('prepared')`, `prepare transaction '` + p.Name + `'`} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	found := of(p.examine(t, ""), doctor.PreparedTransaction)
	require.Len(t, found, 1)
	require.Equal(t, "as that login or an administrator: rollback prepared '"+p.Name+"'", found[0].Remedy)
	p.Exec(t, p.AdminURL, `rollback prepared '`+p.Name+`'`)
}
