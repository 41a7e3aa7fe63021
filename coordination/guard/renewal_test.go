package guard_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

const (
	renewSQL   = `select workflow_coordination.renew_executor($1)`
	releaseSQL = `select workflow_coordination.release_executor($1)`
)

// D1, F2: renewals and guarded transactions of one executor do not meet.
func TestRenewal(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)

	for _, isolation := range isolations() {
		t.Run("AnOpenGuardedTransactionDoesNotDelayIt/"+string(isolation), func(t *testing.T) {
			executor := d.Executor(t, longLease)
			renewer := d.As(t, executor)
			_, err := renewer.Exec(t.Context(), `set lock_timeout = '50ms'`)
			require.NoError(t, err)
			require.NoError(t, write(t, begin(t, d.As(t, executor), isolation)))
			require.NotNil(t, scan[*time.Time](t, renewer, renewSQL, executor))
		})

		// Else every renewal would look like contention to the SDK's queues, which then poll ever more slowly.
		t.Run("ASnapshotFromBeforeItStillWrites/"+string(isolation), func(t *testing.T) {
			executor := d.Executor(t, longLease)
			tx := begin(t, d.As(t, executor), isolation)
			_, err := tx.Exec(t.Context(), `select from shop.orders`)
			require.NoError(t, err)
			require.NotNil(t, scan[*time.Time](t, d.As(t, executor), renewSQL, executor))
			require.NoError(t, write(t, tx))
			require.NotNil(t, scan[*time.Time](t, d.As(t, executor), renewSQL, executor))
			require.NoError(t, write(t, tx))
			require.NoError(t, tx.Commit(t.Context()))
		})

		t.Run("OneThatIsNotCommittedYetDelaysNoWrite/"+string(isolation), func(t *testing.T) {
			executor := d.Executor(t, longLease)
			renewal := begin(t, d.As(t, executor), pgx.ReadCommitted)
			_, err := renewal.Exec(t.Context(), renewSQL, executor)
			require.NoError(t, err)
			conn := d.As(t, executor)
			_, err = conn.Exec(t.Context(), `set lock_timeout = '50ms'`)
			require.NoError(t, err)
			require.NoError(t, write(t, begin(t, conn, isolation)))
		})
	}

	t.Run("ItExtendsTheLeaseByItsWholeLength", func(t *testing.T) {
		executor := d.Executor(t, longLease)
		before := scan[time.Time](t, owner, `select clock_timestamp()`)
		renewed := scan[time.Time](t, d.As(t, executor), renewSQL, executor)
		after := scan[time.Time](t, owner, `select clock_timestamp()`)
		require.WithinRange(t, renewed, before.Add(longLease*time.Millisecond), after.Add(longLease*time.Millisecond))
	})
}

// D11, K10: nothing brings a lease back that expired or ended.
func TestResurrection(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)

	// A paused process whose renewal was under way, or a renewal that met a lock, comes through too late.
	t.Run("ARenewalThatWaitedPastTheExpiryIsRefused", func(t *testing.T) {
		t.Parallel()
		executor := uuid.New()
		conn, watcher := d.As(t, executor), d.Connect(t, d.OwnerURL)
		renewed, err := &time.Time{}, error(nil)
		holdPastExpiry(t, d, executor, conn, func() {
			err = conn.QueryRow(t.Context(), renewSQL, executor).Scan(&renewed)
		})
		require.NoError(t, err)
		require.Nil(t, renewed)
		require.True(t, scan[bool](t, watcher, `select expires_at < clock_timestamp() from workflow_coordination.executor where executor_id = $1`, executor))
	})

	t.Run("AReleaseThatWaitedPastTheExpiryIsRefused", func(t *testing.T) {
		t.Parallel()
		executor := uuid.New()
		conn, watcher := d.As(t, executor), d.Connect(t, d.OwnerURL)
		released, err := true, error(nil)
		holdPastExpiry(t, d, executor, conn, func() {
			err = conn.QueryRow(t.Context(), releaseSQL, executor).Scan(&released)
		})
		require.NoError(t, err)
		require.False(t, released)
		require.Equal(t, "active", scan[string](t, watcher, `select state from workflow_coordination.executor where executor_id = $1`, executor))
	})

	ends := map[string]func(t *testing.T, executor uuid.UUID){
		"Expired":  func(t *testing.T, executor uuid.UUID) { t.Helper(); d.Expire(t, executor) },
		"Revoked":  func(t *testing.T, executor uuid.UUID) { t.Helper(); revoke(t, d, executor) },
		"Released": func(t *testing.T, executor uuid.UUID) { t.Helper(); release(t, d, executor) },
	}
	for name, end := range ends {
		t.Run("NeitherRenewalNorReleaseNorRegistrationRevivesOneThat"+name, func(t *testing.T) {
			executor := d.Executor(t, longLease)
			end(t, executor)
			row := func() string {
				return scan[string](t, owner, `select e::text from workflow_coordination.executor e where executor_id = $1`, executor)
			}
			before, conn := row(), d.As(t, executor)
			require.Nil(t, scan[*time.Time](t, conn, renewSQL, executor))
			require.False(t, scan[bool](t, conn, releaseSQL, executor))
			_, err := conn.Exec(t.Context(), `select workflow_coordination.register_executor($1, $2, $3, 1000, 100, '', '')`,
				executor, fixture.Application, fixture.Version)
			require.Equal(t, "23505", state(err))
			require.Equal(t, before, row())
		})
	}

	t.Run("AnotherLoginCannotRenewOrReleaseIt", func(t *testing.T) {
		executor := d.Executor(t, longLease)
		d.Exec(t, d.OwnerURL, `update workflow_coordination.executor set worker_login = 'another' where executor_id = $1`, executor)
		require.Nil(t, scan[*time.Time](t, d.As(t, executor), renewSQL, executor))
		require.False(t, scan[bool](t, d.As(t, executor), releaseSQL, executor))
	})

	t.Run("RecoveryLeavesALivingExecutorAlone", func(t *testing.T) {
		scanner, alive := d.Executor(t, longLease), d.Executor(t, longLease)
		require.Equal(t, "alive", recoverLost(t, d.As(t, scanner), scanner, alive))
		require.NoError(t, write(t, begin(t, d.As(t, alive), pgx.ReadCommitted)))
	})

	t.Run("AnExecutorThatLostItsLeaseRecoversNobody", func(t *testing.T) {
		scanner, lost := d.Executor(t, longLease), d.Executor(t, longLease)
		conn := d.As(t, scanner)
		d.Expire(t, lost)
		d.Expire(t, scanner)
		_, err := conn.Exec(t.Context(), `select workflow_coordination.recover_executor($1, $2, 4, 100)`, scanner, lost)
		require.Equal(t, "KF001", state(err))
		require.Equal(t, "active", scan[string](t, owner, `select state from workflow_coordination.executor where executor_id = $1`, lost))
	})
}

func release(t *testing.T, d *fixture.Database, executor uuid.UUID) {
	t.Helper()
	require.True(t, scan[bool](t, d.As(t, executor), releaseSQL, executor))
}
