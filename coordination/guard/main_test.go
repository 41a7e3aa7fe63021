package guard_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

const (
	patience = 30 * time.Second
	poll     = 5 * time.Millisecond

	// longLease outlives any test; shortLease ends inside one, waitLease behind a lock that it must live to meet.
	// Milliseconds.
	longLease  = 600_000
	shortLease = 300
	waitLease  = 1500
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

func isolations() []pgx.TxIsoLevel {
	return []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
}

// state is the SQLSTATE of err: "" for none, "?" for an error that no server sent.
func state(err error) string {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pg):
		return pg.Code
	default:
		return "?"
	}
}

func begin(t *testing.T, conn *pgx.Conn, isolation pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func write(t *testing.T, tx pgx.Tx) error {
	t.Helper()
	_, err := tx.Exec(t.Context(), `insert into shop.orders (id) values (gen_random_uuid()::text)`)
	return err
}

func scan[T any](t *testing.T, conn *pgx.Conn, query string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&value))
	return value
}

func revoke(t *testing.T, d *fixture.Database, executor uuid.UUID) {
	t.Helper()
	d.Exec(t, d.OwnerURL, `update workflow_coordination.executor set state = 'revoked', revoked_at = clock_timestamp()
		where executor_id = $1`, executor)
}

// awaitExpiry returns when the database's clock passed the executor's expiry.
func awaitExpiry(t *testing.T, watcher *pgx.Conn, executor uuid.UUID) {
	t.Helper()
	require.Eventually(t, func() bool {
		return scan[bool](t, watcher, `select expires_at < clock_timestamp() from workflow_coordination.executor
			where executor_id = $1`, executor)
	}, patience, poll)
}

// awaitBlocked returns when the session waits for a lock.
func awaitBlocked(t *testing.T, watcher, session *pgx.Conn) {
	t.Helper()
	pid := session.PgConn().PID()
	require.Eventually(t, func() bool {
		return scan[bool](t, watcher, `select cardinality(pg_blocking_pids($1)) > 0`, pid)
	}, patience, poll)
}

// holdPastExpiry registers the executor of the session and makes what act does in it wait for the lease row until the
// lease is over. Every connection is open before the lease begins: it is short.
func holdPastExpiry(t *testing.T, d *fixture.Database, executor uuid.UUID, session *pgx.Conn, act func()) {
	t.Helper()
	registrar, watcher, holder := d.As(t, executor), d.Connect(t, d.AdminURL), begin(t, d.Connect(t, d.OwnerURL), pgx.ReadCommitted)
	register(t, registrar, executor, waitLease, waitLease/2)
	_, err := holder.Exec(t.Context(), `select from workflow_coordination.executor where executor_id = $1 for update`, executor)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); act() }()
	awaitBlocked(t, watcher, session)
	awaitExpiry(t, watcher, executor)
	require.NoError(t, holder.Rollback(t.Context()))
	<-done
}

// recoverLost is what one recovery of the executor says.
func recoverLost(t *testing.T, scanner *pgx.Conn, own, lost uuid.UUID) (outcome string) {
	t.Helper()
	return scan[string](t, scanner, `select outcome from workflow_coordination.recover_executor($1, $2, 4, 100)`, own, lost)
}
