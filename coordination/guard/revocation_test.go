package guard_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

// F2: once a revocation has committed, no write does.
func TestRevocation(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	scannerID := d.Executor(t, longLease)
	scanner := d.As(t, scannerID)

	// A transaction that was admitted holds the lease row until it ends; recovery leaves the executor alone so long.
	t.Run("RecoveryDoesNotPassAnAdmittedTransaction", func(t *testing.T) {
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
	})

	// A revocation that does not ask for the lock by name meets it all the same, because the state is part of a key.
	t.Run("APlainRevocationWaitsForAnAdmittedTransaction", func(t *testing.T) {
		impatient := d.Connect(t, d.OwnerURL)
		_, err := impatient.Exec(t.Context(), `set lock_timeout = '50ms'`)
		require.NoError(t, err)
		for _, isolation := range isolations() {
			t.Run(string(isolation), func(t *testing.T) {
				lost := d.Executor(t, longLease)
				tx := begin(t, d.As(t, lost), isolation)
				require.NoError(t, write(t, tx))

				_, err := impatient.Exec(t.Context(), `update workflow_coordination.executor set state = 'revoked' where executor_id = $1`, lost)
				require.Equal(t, "55P03", state(err))
			})
		}
	})

	// A snapshot that was taken while the lease was valid does not let a write pass after its revocation. The reason
	// is the fence's own, never a serialization failure, which callers would take for contention and try again.
	t.Run("ASnapshotFromBeforeTheRevocationAdmitsNothing", func(t *testing.T) {
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
	})

	// The same when the write met the revocation before its commit and had to wait for it.
	t.Run("AWriteThatWaitedForARevocationIsRefused", func(t *testing.T) {
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
				awaitBlocked(t, d.Connect(t, d.AdminURL), conn)
				require.NoError(t, revoker.Commit(t.Context()))
				require.Equal(t, "KF002", state(<-written))
			})
		}
	})

	// When the revocation was taken back, the write goes on.
	t.Run("AWriteThatWaitedForARevocationThatWasTakenBackPasses", func(t *testing.T) {
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
				awaitBlocked(t, d.Connect(t, d.AdminURL), conn)
				require.NoError(t, revoker.Rollback(t.Context()))
				require.NoError(t, <-written)
				require.NoError(t, tx.Commit(t.Context()))
			})
		}
	})

	// The time that a write spends waiting for the lease row counts: behind the lock the clock is read again.
	t.Run("ALeaseThatExpiresDuringTheLockWaitAdmitsNothing", func(t *testing.T) {
		for _, isolation := range isolations() {
			t.Run(string(isolation), func(t *testing.T) {
				t.Parallel()
				executor := uuid.New()
				conn := d.As(t, executor)
				tx := begin(t, conn, isolation)
				var written error
				holdPastExpiry(t, d, executor, conn, func() {
					_, written = tx.Exec(t.Context(), `insert into shop.orders (id) values ('late')`)
				})
				require.Equal(t, "KF001", state(written))
			})
		}
	})

	// Expiry is judged by the clock of now, not by the time at which the transaction began.
	t.Run("ATransactionFromBeforeTheExpiryIsRefusedAfterIt", func(t *testing.T) {
		for _, isolation := range isolations() {
			t.Run(string(isolation), func(t *testing.T) {
				t.Parallel()
				executor := d.Executor(t, shortLease)
				tx := begin(t, d.As(t, executor), isolation)
				_, err := tx.Exec(t.Context(), `select from shop.orders`)
				require.NoError(t, err)
				awaitExpiry(t, d.Connect(t, d.OwnerURL), executor)
				require.Equal(t, "KF001", state(write(t, tx)))
			})
		}
	})

	// A stale executor takes no lock, not for the moment of its refusal either, so no crowd of attempts to write can hold
	// its revocation off. A row lock would leave its transaction in xmax.
	t.Run("ARefusedWriteLocksNothing", func(t *testing.T) {
		const trace = `select concat(xmin, ' ', xmax, ' ', ctid) from workflow_coordination.executor where executor_id = $1`
		owner := d.Connect(t, d.OwnerURL)
		for _, isolation := range isolations() {
			t.Run(string(isolation), func(t *testing.T) {
				lost := d.Executor(t, longLease)
				d.Expire(t, lost)
				before := scan[string](t, owner, trace, lost)
				require.Equal(t, "KF001", state(write(t, begin(t, d.As(t, lost), isolation))))
				require.Equal(t, before, scan[string](t, owner, trace, lost))
			})
		}
	})
}
