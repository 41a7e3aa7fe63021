package guard_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/test/fixture"
)

// F1, F2, K2: what a session can do to itself, and what it cannot gain by it.
func TestSession(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	d.Exec(t, d.OwnerURL, replaceWorker(`
		create function shop.order_for_worker() returns void language sql security definer as $$ insert into shop.orders (id) values ('by the owner') $$;
		grant execute on function shop.order_for_worker() to "{{worker}}"`, d.Worker.Name))
	d.Exec(t, d.AdminURL, `grant "`+d.API.Name+`" to "`+d.Worker.Name+`"`)
	valid := d.Executor(t, longLease)

	// The identity stands in the start-up packet, so it is what a reset goes back to.
	for _, reset := range []string{`reset all`, `discard all`, `reset kesita.executor_id`, `set kesita.executor_id to default`} {
		t.Run("AResetDoesNotLoseTheIdentity/"+reset, func(t *testing.T) {
			conn := d.As(t, valid)
			execute(t, conn, `set kesita.executor_id = 'something else'`, reset)
			require.NoError(t, write(t, begin(t, conn, pgx.ReadCommitted)))
		})

		t.Run("AResetLosesAnIdentityThatWasSetLaterAndThenNothingIsWritten/"+reset, func(t *testing.T) {
			conn := d.Connect(t, d.WorkerURL)
			execute(t, conn, `set kesita.executor_id = '`+valid.String()+`'`)
			require.NoError(t, write(t, begin(t, conn, pgx.ReadCommitted)))
			execute(t, conn, `rollback`, reset)
			require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
		})
	}

	t.Run("AnEmptiedIdentityIsNone", func(t *testing.T) {
		conn := d.As(t, valid)
		execute(t, conn, `set kesita.executor_id = ''`)
		require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
	})

	// Behind the rollback the setting is '', not NULL.
	t.Run("ALocalIdentityEndsWithItsTransaction", func(t *testing.T) {
		conn := d.Connect(t, d.WorkerURL)
		tx := begin(t, conn, pgx.ReadCommitted)
		_, err := tx.Exec(t.Context(), `set local kesita.executor_id = '`+valid.String()+`'`)
		require.NoError(t, err)
		require.NoError(t, write(t, tx))
		require.NoError(t, tx.Rollback(t.Context()))
		require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
	})

	t.Run("AWorkerCannotSwitchTriggersOff", func(t *testing.T) {
		_, err := d.As(t, valid).Exec(t.Context(), `set session_replication_role = 'replica'`)
		require.Equal(t, "42501", state(err))
	})

	t.Run("AReplicaSessionIsGuardedAsWell", func(t *testing.T) {
		conn := d.Connect(t, d.AdminURL)
		execute(t, conn, `set session_replication_role = 'replica'`, `set session authorization "`+d.Worker.Name+`"`)
		require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
	})

	t.Run("AnotherRoleDoesNotHideTheLogin", func(t *testing.T) {
		conn := d.Connect(t, d.WorkerURL)
		execute(t, conn, `set role "`+d.API.Name+`"`)
		require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
	})

	t.Run("AFunctionOfTheOwnerDoesNotHideTheLogin", func(t *testing.T) {
		_, err := d.Connect(t, d.WorkerURL).Exec(t.Context(), `select shop.order_for_worker()`)
		require.Equal(t, "KF003", state(err))
	})

	t.Run("AStatementThatWasPreparedUnderALeaseEndsWithIt", func(t *testing.T) {
		executor := d.Executor(t, longLease)
		conn := d.As(t, executor)
		execute(t, conn, `prepare ordering as insert into shop.orders (id) values (gen_random_uuid()::text)`,
			`execute ordering`, `execute ordering`)
		revoke(t, d, executor)
		_, err := conn.Exec(t.Context(), `execute ordering`)
		require.Equal(t, "KF002", state(err))
	})

	// The savepoint's rollback gives its lock on the lease back, and the write with it; the next write asks again.
	t.Run("ARolledBackSavepointAdmitsNothingLater", func(t *testing.T) {
		executor := d.Executor(t, longLease)
		conn := d.As(t, executor)
		tx := begin(t, conn, pgx.RepeatableRead)
		savepoint, err := tx.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, write(t, savepoint))
		require.NoError(t, savepoint.Rollback(t.Context()))
		revoke(t, d, executor)
		require.Equal(t, "KF002", state(write(t, tx)))
	})

	for _, parameter := range []string{"kesita.executor_id=" + uuid.NewString(), "options=-c%20kesita.executor_id%3Dother"} {
		t.Run("AnIdentityInTheConnectionStringDoesNotWin/"+parameter, func(t *testing.T) {
			id := guard.Identity{ExecutorID: valid, Timing: fixture.Timing()}
			pool, err := guard.Open(t.Context(), parse(t, d.WorkerURL), id, d.WorkerURL+"&"+parameter, 1)
			require.NoError(t, err)
			defer pool.Close()
			_, err = pool.Exec(t.Context(), `update shop.orders set amount = 1 where false`)
			require.NoError(t, err)
		})
	}
}

func execute(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := conn.Exec(t.Context(), s, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, s)
	}
}

func parse(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	return config
}
