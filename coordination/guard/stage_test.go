package guard_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

// stageSQL is one guarded table of every shape through which a row can be reached; {{worker}} may do everything
// with them that a worker login is ever granted, and TRUNCATE.
const stageSQL = `
create table shop.parent (id text primary key);
create table shop.child (id text primary key, parent_id text references shop.parent on delete cascade);
create table shop.free_parent (id text primary key);
create table shop.guarded_child (id text primary key, parent_id text references shop.free_parent on delete cascade);
create view shop.order_view as select id, writer, amount from shop.orders;
create table shop.ledger (id text, amount integer) partition by hash (id);
create table shop.ledger_0 partition of shop.ledger for values with (modulus 1, remainder 0);
select workflow_coordination.guard_table(name::regclass)
  from unnest(array['shop.parent', 'shop.child', 'shop.guarded_child', 'shop.ledger', 'shop.ledger_0']) as name;
insert into shop.orders values ('first', 'owner', 1);
insert into shop.parent values ('first');
insert into shop.child values ('first', 'first');
insert into shop.free_parent values ('first');
insert into shop.guarded_child values ('first', 'first');
insert into shop.ledger values ('first', 1);
do $$ begin
    execute format('grant select, insert, update, delete, truncate on all tables in schema shop, dbos to %I', '{{worker}}');
end $$;`

// contentSQL is a fingerprint of everything that the writes below could change.
const contentSQL = `select md5(concat(
	(select string_agg(o::text, ';' order by o.id) from shop.orders o),
	(select string_agg(o::text, ';' order by o.id) from shop.parent o),
	(select string_agg(o::text, ';' order by o.id) from shop.child o),
	(select string_agg(o::text, ';' order by o.id) from shop.guarded_child o),
	(select string_agg(o::text, ';' order by o.id) from shop.ledger o)))`

type writing struct {
	name string
	run  func(ctx context.Context, tx pgx.Tx) error
}

func statement(name, sql string) writing {
	return writing{name, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}}
}

// writings are all the ways to write that PostgreSQL has.
func writings() []writing {
	return []writing{
		statement("insert", `insert into shop.orders values ('new', 'w', 2)`),
		statement("update", `update shop.orders set amount = 2`),
		statement("delete", `delete from shop.orders`),
		statement("truncate", `truncate shop.orders`),
		statement("truncate cascade", `truncate shop.parent cascade`),
		statement("merge", `merge into shop.orders o using (values ('first'), ('new')) as v (id) on o.id = v.id
			when matched then update set amount = 3 when not matched then insert values (v.id, 'w', 3)`),
		{"copy", func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"shop", "orders"}, []string{"id"}, pgx.CopyFromRows([][]any{{"copied"}}))
			return err
		}},
		statement("insert on conflict do nothing", `insert into shop.orders values ('first', 'w', 2) on conflict do nothing`),
		statement("insert on conflict do update", `insert into shop.orders values ('first', 'w', 2) on conflict (id) do update set amount = 4`),
		statement("zero-row update", `update shop.orders set amount = 2 where false`),
		statement("writable cte", `with gone as (delete from shop.orders returning id) select id from gone`),
		statement("foreign key cascade", `delete from shop.parent`),
		statement("foreign key cascade from an open table", `delete from shop.free_parent`),
		statement("auto-updatable view", `update shop.order_view set amount = 5`),
		statement("insert through view", `insert into shop.order_view values ('viewed', 'w', 5)`),
		statement("partitioned table", `insert into shop.ledger values ('new', 2)`),
		statement("partition directly", `insert into shop.ledger_0 values ('new', 2)`),
		statement("function", `do $$ begin update shop.orders set amount = 6; end $$`),
	}
}

// journalWritings are the four kinds of statement on every journal table; they touch no row.
func journalWritings(t *testing.T, owner *pgx.Conn) []writing {
	t.Helper()
	rows, err := owner.Query(t.Context(), `select workflow_coordination.journal_tables()`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, tables, 11)
	var list []writing
	for _, table := range tables {
		column := scan[string](t, owner, `select attname::text from pg_attribute where attrelid = $1::text::regclass and attnum = 1`, table)
		list = append(list,
			statement("insert "+table, "insert into "+table+" select * from "+table+" where false"),
			statement("update "+table, "update "+table+" set "+column+" = "+column+" where false"),
			statement("delete "+table, "delete from "+table+" where false"),
			statement("truncate "+table, "truncate "+table+" cascade"))
	}
	return list
}

// newStage is a fixture database with the tables of stageSQL.
func newStage(t *testing.T) *fixture.Database {
	t.Helper()
	d := fixture.Copy(t)
	d.Exec(t, d.OwnerURL, replaceWorker(stageSQL, d.Worker.Name))
	return d
}

// claimant is a session of the worker login, and what the guard must say to its writes.
type claimant struct {
	name    string
	refusal string
	open    func(t *testing.T) *pgx.Conn
}

// claimants are all the ways to hold no valid lease.
func claimants(d *fixture.Database) []claimant {
	claiming := func(value string) func(t *testing.T) *pgx.Conn {
		return func(t *testing.T) *pgx.Conn {
			t.Helper()
			config, err := pgx.ParseConfig(d.WorkerURL)
			require.NoError(t, err)
			config.RuntimeParams["kesita.executor_id"] = value
			conn, err := pgx.ConnectConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			return conn
		}
	}
	ended := func(end func(t *testing.T, executor uuid.UUID)) func(t *testing.T) *pgx.Conn {
		return func(t *testing.T) *pgx.Conn {
			t.Helper()
			executor := d.Executor(t, longLease)
			end(t, executor)
			return d.As(t, executor)
		}
	}
	return []claimant{
		{"no identity", "KF003", func(t *testing.T) *pgx.Conn { t.Helper(); return d.Connect(t, d.WorkerURL) }},
		{"empty identity", "KF003", claiming("")},
		{"garbage", "KF003", claiming("'; drop table shop.orders; --")},
		{"upper case", "KF003", claiming("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")},
		{"unknown executor", "KF003", claiming(uuid.NewString())},
		{"expired", "KF001", ended(func(t *testing.T, executor uuid.UUID) { t.Helper(); d.Expire(t, executor) })},
		{"revoked", "KF002", ended(func(t *testing.T, executor uuid.UUID) { t.Helper(); revoke(t, d, executor) })},
		{"released", "KF002", ended(func(t *testing.T, executor uuid.UUID) {
			t.Helper()
			require.True(t, scan[bool](t, d.As(t, executor), `select workflow_coordination.release_executor($1)`, executor))
		})},
		{"executor of another login", "KF003", ended(func(t *testing.T, executor uuid.UUID) {
			t.Helper()
			d.Exec(t, d.OwnerURL, `update workflow_coordination.executor set worker_login = 'another' where executor_id = $1`, executor)
		})},
	}
}
