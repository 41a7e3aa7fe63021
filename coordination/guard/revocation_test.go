package guard_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

// F2: a transaction that was admitted holds the lease row until it ends; recovery leaves the executor alone so long.
func TestRecoveryDoesNotPassAnAdmittedTransaction(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	scannerID := d.Executor(t, longLease)
	scanner := d.As(t, scannerID)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			lost := d.Executor(t, longLease)
			conn := d.As(t, lost)
			tx := begin(t, conn, isolation)
			require.NoError(t, write(t, tx))
			d.Expire(t, lost)

			require.Equal(t, "busy", recoverLost(t, scanner, scannerID, lost))
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, "recovered", recoverLost(t, scanner, scannerID, lost))
			require.Equal(t, "KF002", state(write(t, begin(t, conn, isolation))))
		})
	}
}

// F2: a revocation that does not ask for the lock by name meets it all the same, because the state is part of a key.
func TestAPlainRevocationWaitsForAnAdmittedTransaction(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	owner := d.Connect(t, d.OwnerURL)
	_, err := owner.Exec(t.Context(), `set lock_timeout = '50ms'`)
	require.NoError(t, err)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			lost := d.Executor(t, longLease)
			tx := begin(t, d.As(t, lost), isolation)
			require.NoError(t, write(t, tx))

			_, err := owner.Exec(t.Context(), `update workflow_coordination.executor set state = 'revoked' where executor_id = $1`, lost)
			require.Equal(t, "55P03", state(err))
		})
	}
}

// F2: a snapshot that was taken while the lease was valid does not let a write pass after its revocation. The reason
// is the fence's own, never a serialization failure, which callers would take for contention and try again.
func TestASnapshotFromBeforeTheRevocationAdmitsNothing(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	scannerID := d.Executor(t, longLease)
	scanner := d.As(t, scannerID)
	ends := map[string]func(t *testing.T, executor uuid.UUID, conn *pgx.Conn){
		"recovery": func(t *testing.T, executor uuid.UUID, _ *pgx.Conn) {
			t.Helper()
			d.Expire(t, executor)
			require.Equal(t, "recovered", recoverLost(t, scanner, scannerID, executor))
		},
		"plain revocation": func(t *testing.T, executor uuid.UUID, _ *pgx.Conn) { t.Helper(); revoke(t, d, executor) },
		"release": func(t *testing.T, executor uuid.UUID, conn *pgx.Conn) {
			t.Helper()
			require.True(t, scan[bool](t, conn, `select workflow_coordination.release_executor($1)`, executor))
		},
	}
	for name, end := range ends {
		for _, isolation := range isolations() {
			t.Run(name+"/"+string(isolation), func(t *testing.T) {
				lost := d.Executor(t, longLease)
				tx := begin(t, d.As(t, lost), isolation)
				_, err := tx.Exec(t.Context(), `select from shop.orders`)
				require.NoError(t, err)
				end(t, lost, d.As(t, lost))

				require.Equal(t, "KF002", state(write(t, tx)))
			})
		}
	}
}

// F2: the same when the write met the revocation before its commit and had to wait for it.
func TestAWriteThatWaitedForARevocationIsRefused(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			lost := d.Executor(t, longLease)
			revoker := begin(t, d.Connect(t, d.OwnerURL), pgx.ReadCommitted)
			_, err := revoker.Exec(t.Context(), `update workflow_coordination.executor set state = 'revoked' where executor_id = $1`, lost)
			require.NoError(t, err)

			conn := d.As(t, lost)
			tx := begin(t, conn, isolation)
			written := make(chan error, 1)
			go func() {
				_, err := tx.Exec(t.Context(), `insert into shop.orders (id) values ('late')`)
				written <- err
			}()
			awaitBlocked(t, d, conn)
			require.NoError(t, revoker.Commit(t.Context()))
			require.Equal(t, "KF002", state(<-written))
		})
	}
}

// F2: and when the revocation was taken back, the write goes on.
func TestAWriteThatWaitedForARevocationThatWasTakenBackPasses(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			executor := d.Executor(t, longLease)
			revoker := begin(t, d.Connect(t, d.OwnerURL), pgx.ReadCommitted)
			_, err := revoker.Exec(t.Context(), `update workflow_coordination.executor set state = 'revoked' where executor_id = $1`, executor)
			require.NoError(t, err)

			conn := d.As(t, executor)
			tx := begin(t, conn, isolation)
			written := make(chan error, 1)
			go func() {
				_, err := tx.Exec(t.Context(), `insert into shop.orders (id) values ($1)`, uuid.NewString())
				written <- err
			}()
			awaitBlocked(t, d, conn)
			require.NoError(t, revoker.Rollback(t.Context()))
			require.NoError(t, <-written)
			require.NoError(t, tx.Commit(t.Context()))
		})
	}
}

// F2: the time that a write spends waiting for the lease row counts: behind the lock the clock is read again.
func TestALeaseThatExpiresDuringTheLockWaitAdmitsNothing(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			executor := d.Executor(t, shortLease)
			holder := begin(t, d.Connect(t, d.OwnerURL), pgx.ReadCommitted)
			_, err := holder.Exec(t.Context(), `select from workflow_coordination.executor where executor_id = $1 for update`, executor)
			require.NoError(t, err)

			conn := d.As(t, executor)
			tx := begin(t, conn, isolation)
			written := make(chan error, 1)
			go func() {
				_, err := tx.Exec(t.Context(), `insert into shop.orders (id) values ('late')`)
				written <- err
			}()
			awaitBlocked(t, d, conn)
			awaitExpiry(t, d, executor)
			require.NoError(t, holder.Rollback(t.Context()))
			require.Equal(t, "KF001", state(<-written))
		})
	}
}

// F2: expiry is judged by the clock of now, not by the time at which the transaction began.
func TestATransactionFromBeforeTheExpiryIsRefusedAfterIt(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			executor := d.Executor(t, shortLease)
			tx := begin(t, d.As(t, executor), isolation)
			_, err := tx.Exec(t.Context(), `select from shop.orders`)
			require.NoError(t, err)
			awaitExpiry(t, d, executor)
			require.Equal(t, "KF001", state(write(t, tx)))
		})
	}
}

// F2: a stale executor takes no lock, so its attempts to write cannot hold its revocation off.
func TestARefusedWriteLocksNothing(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	scannerID := d.Executor(t, longLease)
	scanner := d.As(t, scannerID)
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			lost := d.Executor(t, longLease)
			d.Expire(t, lost)
			tx := begin(t, d.As(t, lost), isolation)
			_, err := tx.Exec(t.Context(), `do $$ begin insert into shop.orders (id) values ('x'); exception when sqlstate 'KF001' then null; end $$`)
			require.NoError(t, err) // the transaction is still open
			require.Equal(t, "recovered", recoverLost(t, scanner, scannerID, lost))
		})
	}
}
