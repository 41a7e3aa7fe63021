package guard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/test/fixture"
)

// crowd is how many connections of one worker write at the same time.
func crowd() []int { return []int{16, 48} }

// hammer is a crowd of sessions of one executor that write as fast as they can.
type hammer struct {
	sessions    []*pgx.Conn
	committed   atomic.Int64
	conflicts   atomic.Int64 // 40001 under REPEATABLE READ, where only the lease row could cause it
	rowsPerTurn int64
}

func newHammer(t *testing.T, d *fixture.Database, executor uuid.UUID, size int) *hammer {
	t.Helper()
	h := &hammer{rowsPerTurn: 2}
	for range size {
		h.sessions = append(h.sessions, d.As(t, executor))
	}
	return h
}

// run writes until the fence refuses every session, or until ctx ends. Any other fault is its error.
func (h *hammer) run(ctx context.Context) error {
	var group errgroup.Group
	for i, session := range h.sessions {
		isolation := isolations()[i%len(isolations())]
		group.Go(func() error {
			for ctx.Err() == nil {
				err := h.turn(session, isolation)
				switch code := state(err); {
				case code == "":
					h.committed.Add(1)
				case code == "40001" && isolation == pgx.Serializable, code == "KF004": // predicate locks; a busy machine
				case code == "40001":
					h.conflicts.Add(1)
				case strings.HasPrefix(code, "KF"):
					return nil
				default:
					return fmt.Errorf("%s: %w", isolation, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// turn is one guarded transaction on two business tables' rows and on the journal.
func (h *hammer) turn(session *pgx.Conn, isolation pgx.TxIsoLevel) error {
	ctx := context.Background()
	return pgx.BeginTxFunc(ctx, session, pgx.TxOptions{IsoLevel: isolation}, func(tx pgx.Tx) error {
		for range h.rowsPerTurn {
			if _, err := tx.Exec(ctx, `insert into shop.orders (id) values (gen_random_uuid()::text)`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `update dbos.queues set name = name where false`)
		return err
	})
}

// register starts a lease for an executor whose sessions are open already. Milliseconds.
func register(t *testing.T, conn *pgx.Conn, executor uuid.UUID, lease, transaction int64) {
	t.Helper()
	_, err := conn.Exec(t.Context(), `select workflow_coordination.register_executor($1, $2, $3, $4, $5, 'test', 'test')`,
		executor, fixture.Application, fixture.Version, lease, transaction)
	require.NoError(t, err)
}

// F2: a crowd of connections writes while the lease ends under it. What is visible right after the recovery's commit
// is all that there will ever be. Not parallel: it uses the whole machine.
func TestNoWriteCommitsAfterTheRevocationHoweverBusyTheWorkerIs(t *testing.T) {
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)
	scannerID := d.Executor(t, longLease)
	scanner := d.As(t, scannerID)
	for _, size := range crowd() {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			before := scan[int64](t, owner, `select count(*) from shop.orders`)
			lost := uuid.New()
			h := newHammer(t, d, lost, size)
			renewer := d.As(t, lost)
			register(t, renewer, lost, waitLease, waitLease/2)
			var group errgroup.Group
			group.Go(func() error { return h.run(context.Background()) })
			require.Eventually(t, func() bool { // the crowd is at work; from here on nobody renews
				require.NotNil(t, scan[*time.Time](t, renewer, renewSQL, lost))
				return h.committed.Load() > int64(size)
			}, patience, poll)

			var atRevocation int64
			require.Eventually(t, func() bool {
				if recoverLost(t, scanner, scannerID, lost) != "recovered" {
					return false
				}
				atRevocation = scan[int64](t, owner, `select count(*) from shop.orders`)
				return true
			}, patience, poll)
			require.NoError(t, group.Wait())
			require.Equal(t, atRevocation, scan[int64](t, owner, `select count(*) from shop.orders`))
			require.Equal(t, h.rowsPerTurn*h.committed.Load(), atRevocation-before)
			require.Zero(t, h.conflicts.Load())
		})
	}
}

// F2, D1: the worker's own crowd neither delays nor breaks its renewals, and renewals do not break its transactions.
// Not parallel: it measures time.
func TestRenewalsSucceedHoweverBusyTheWorkerIs(t *testing.T) {
	const busyFor = 2 * time.Second
	d := fixture.Copy(t)
	for _, size := range crowd() {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			executor := d.Executor(t, longLease)
			renewer := d.As(t, executor)
			idle := renewals(t, renewer, executor, time.Now().Add(busyFor/10))

			h := newHammer(t, d, executor, size)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var group errgroup.Group
			group.Go(func() error { return h.run(ctx) })
			busy := renewals(t, renewer, executor, time.Now().Add(busyFor))
			stop()
			require.NoError(t, group.Wait())
			t.Logf("renewals: idle p99 %s of %d, busy p99 %s of %d beside %d transactions", p99(idle), len(idle), p99(busy), len(busy), h.committed.Load())
			require.Less(t, p99(busy), max(fixture.Timing().RenewAttempt, 50*p99(idle))) // the machine has other users, too
			require.Zero(t, h.conflicts.Load())
		})
	}
}

// renewals renews until the given time and returns how long each took. Every one must succeed.
func renewals(t *testing.T, conn *pgx.Conn, executor uuid.UUID, until time.Time) []time.Duration {
	t.Helper()
	var took []time.Duration
	for time.Now().Before(until) {
		began := time.Now()
		require.NotNil(t, scan[*time.Time](t, conn, `select workflow_coordination.renew_executor($1)`, executor))
		took = append(took, time.Since(began))
	}
	return took
}

func p99(took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*99/100]
}
