package guard_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/test/fixture"
)

// F3, K4: a guarded transaction is bounded, and so is every statement and every pause in it.
func TestTransactionBound(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)

	for _, isolation := range isolations() {
		t.Run("AnOlderTransactionIsRefusedAtItsNextWrite/"+string(isolation), func(t *testing.T) {
			t.Parallel()
			executor := uuid.New()
			conn, watcher := d.As(t, executor), d.Connect(t, d.OwnerURL)
			register(t, conn, executor, longLease, 1000)
			tx := begin(t, conn, isolation)
			require.NoError(t, write(t, tx))
			var began time.Time
			require.NoError(t, tx.QueryRow(t.Context(), `select transaction_timestamp()`).Scan(&began))
			require.Eventually(t, func() bool {
				return scan[bool](t, watcher, `select clock_timestamp() > $1::timestamptz + interval '1 second'`, began)
			}, patience, poll)

			require.Equal(t, "KF004", state(write(t, tx)))
			require.NoError(t, tx.Rollback(t.Context()))
			require.NoError(t, write(t, begin(t, conn, isolation)))
		})
	}

	t.Run("TheBoundIsShorterThanTheLease", func(t *testing.T) {
		executor := uuid.New()
		_, err := d.As(t, executor).Exec(t.Context(), `select workflow_coordination.register_executor($1, $2, $3, 1000, 1000, '', '')`,
			executor, fixture.Application, fixture.Version)
		require.Equal(t, "23514", state(err))
	})
}

// seenSQL notes the limits of each session that registers a queue (the SDK's pool), renews (the lease's own
// connection) or orders (the business pool).
const seenSQL = `
create table shop.seen (place text, executor text, application_name text, statement text, idle text, silent text);
create function shop.note() returns trigger language plpgsql security definer as $$
begin
    insert into shop.seen values (tg_argv[0], current_setting('kesita.executor_id'), current_setting('application_name'),
        current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),
        current_setting('tcp_user_timeout'));
    return null;
end $$;
create trigger note after insert or update on dbos.queues for each statement execute function shop.note('sdk');
create trigger note after update on workflow_coordination.executor for each statement execute function shop.note('renewal');
create trigger note after insert on shop.orders for each statement execute function shop.note('business');`

// F1, F3: every session of a worker carries the identity and the limits, the SDK's and the renewals' included.
func TestEverySessionOfAWorkerCarriesItsIdentityAndItsLimits(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	d.Exec(t, d.OwnerURL, seenSQL)
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: coordination.ProductionTiming(),
		Environ: []string{},
	})
	require.NoError(t, err)
	pool, err := rt.ConfigurePool(t.Context(), d.WorkerURL, 1)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `insert into shop.orders (id) values ('seen')`)
	require.NoError(t, err)
	require.NoError(t, rt.AddQueue(coordination.Queue{Name: "orders", Concurrency: 2}))
	require.NoError(t, rt.Launch(t.Context()))
	owner := d.Connect(t, d.OwnerURL)
	require.Eventually(t, func() bool {
		return scan[int](t, owner, `select count(distinct place) from shop.seen`) == 3
	}, patience, poll)
	require.NoError(t, rt.Shutdown(t.Context()))

	id := rt.ExecutorID().String()
	rows, err := owner.Query(t.Context(), `select distinct executor, application_name, statement, idle, silent from shop.seen`)
	require.NoError(t, err)
	type limits struct{ Executor, ApplicationName, Statement, Idle, SilentPeer string }
	seen, err := pgx.CollectRows(rows, pgx.RowToStructByPos[limits])
	require.NoError(t, err)
	require.Equal(t, []limits{{id, "kesita:" + id, "15s", "10s", "15000"}}, seen)
}
