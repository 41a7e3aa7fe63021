package journal_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

// The limit of one scan (D3) and who may not use it up.
func limits() rules {
	return rules{
		"RowsThatCannotBeRecoveredDoNotUseTheLimitUp":  foreignRowsDoNotUseTheLimitUp,
		"LockedExecutorsDoNotUseTheLimitUp":            lockedExecutorsDoNotUseTheLimitUp,
		"DeferredExecutorsComeLastInTheOrderOfFailure": deferredComeLast,
		"ExecutorsThatWaitLongestComeFirst":            longestWaitingComeFirst,
	}
}

func foreignRowsDoNotUseTheLimitUp(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	for i, id := range c.executors(t, "released", 110) {
		c.insert(t, c.pending(fmt.Sprint("foreign", i), id).With("application_version", "kesita-shop-v0"))
	}
	lost := c.executor(t, "expired")
	require.Equal(t, []uuid.UUID{lost}, c.candidates(t, scanner))
}

func lockedExecutorsDoNotUseTheLimitUp(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	frozen := c.executors(t, "expired", 110)
	lost := c.executor(t, "expired")
	tx, err := c.owner.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `select from workflow_coordination.executor where executor_id = any ($1) for key share`, frozen)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{lost}, c.candidates(t, scanner))
	locked, err := scanner.Locked(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, frozen, locked)
	r, err := scanner.Recover(t.Context(), frozen[0])
	require.NoError(t, err)
	require.Equal(t, "busy", r.Outcome)
}

func deferredComeLast(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	lost := c.executors(t, "expired", 5)
	deferred := []uuid.UUID{lost[3], uuid.New(), lost[0]}
	list, err := scanner.Candidates(t.Context(), 4, deferred)
	require.NoError(t, err)
	ids := []uuid.UUID{}
	for _, candidate := range list {
		require.Equal(t, "active", candidate.State)
		ids = append(ids, candidate.ExecutorID)
	}
	require.ElementsMatch(t, []uuid.UUID{lost[1], lost[2], lost[4]}, ids[:3])
	require.Equal(t, lost[3], ids[3])
}

func longestWaitingComeFirst(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	lost := c.executors(t, "expired", 3)
	for i, id := range []uuid.UUID{lost[2], lost[0], lost[1]} {
		c.exec(t, `update workflow_coordination.executor set expires_at = expires_at - $2 * interval '1 minute' where executor_id = $1`, id, 3-i)
	}
	require.Equal(t, []uuid.UUID{lost[2], lost[0], lost[1]}, c.candidates(t, scanner))
}

// What happens while something else happens (T1, T2, T3, K6).
func races() rules {
	return rules{
		"WorkThatFinishesWhileRecoveryWaitsIsNotOverwritten": finishingWorkIsNotOverwritten,
		"AScannerThatDiesInTheMiddleLeavesNothingHalfDone":   dyingScannerLeavesNothing,
		"ALockedWorkflowFailsItsExecutorsRecoveryOnly":       lockedWorkflowFailsOneRecovery,
		"TwoScannersMoveEachWorkflowOnce":                    func(t *testing.T, c *crowd) { scannersMoveEachWorkflowOnce(t, c, 2) },
		"FiveScannersMoveEachWorkflowOnce":                   func(t *testing.T, c *crowd) { scannersMoveEachWorkflowOnce(t, c, 5) },
		"TenThousandWorkflowsMoveWholeAndPeersKeepRenewing":  tenThousandMoveWhole,
	}
}

// lock holds a workflow's row until free is called.
func (c *crowd) lock(t testing.TB, id string) (free func()) {
	t.Helper()
	tx, err := c.owner.Begin(context.Background())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from dbos.workflow_status where workflow_uuid = $1 for update`, c.name(id))
	require.NoError(t, err)
	free = sync.OnceFunc(func() { _ = tx.Rollback(context.Background()) })
	t.Cleanup(free)
	return free
}

func finishingWorkIsNotOverwritten(t *testing.T, c *crowd) {
	for name, change := range map[string]string{
		"finished":  `update dbos.workflow_status set status = 'SUCCESS', completed_at = 1 where workflow_uuid = $1`,
		"failed":    `update dbos.workflow_status set status = 'ERROR', completed_at = 1 where workflow_uuid = $1`,
		"cancelled": `update dbos.workflow_status set status = 'CANCELLED', queue_name = null where workflow_uuid = $1`,
		"resumed":   `update dbos.workflow_status set status = 'ENQUEUED', recovery_attempts = 0 where workflow_uuid = $1`,
		"taken":     `update dbos.workflow_status set executor_id = 'somebody-else' where workflow_uuid = $1`,
		"deleted":   `delete from dbos.workflow_status where workflow_uuid = $1`,
	} {
		scanner, id := c.patient(t)
		lost := c.executor(t, "expired")
		c.insert(t, c.pending(name, lost).With("recovery_attempts", 4), c.pending(name+"-other", lost))
		tx, err := c.owner.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), change, c.name(name))
		require.NoError(t, err)
		done := make(chan error, 1)
		var r journal.Recovery
		go func() {
			var err error
			r, err = scanner.Recover(context.Background(), lost)
			done <- err
		}()
		c.awaitBlocked(t, id)
		require.NoError(t, tx.Commit(t.Context()))
		require.NoError(t, <-done)
		require.Empty(t, r.Quarantined, name)
		require.Equal(t, 1, r.Reenqueued, name)
		require.Empty(t, c.takeovers(t, name), name)
		if row := c.read(t, name); name == "deleted" {
			require.Nil(t, row)
		} else {
			require.NotEqual(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", row["status"], name)
			require.InDelta(t, 1_700_000_002_000, row["updated_at"], 0, name)
		}
	}
}

// T2: the scanner's session ends between the revocation and the last workflow.
func dyingScannerLeavesNothing(t *testing.T, c *crowd) {
	scanner, id := c.patient(t)
	lost := c.executor(t, "expired")
	c.insert(t, c.pending("a", lost), c.pending("b", lost), c.pending("c", lost))
	free := c.lock(t, "b")
	before := c.read(t, "a")
	failed := make(chan error, 1)
	go func() {
		_, err := scanner.Recover(context.Background(), lost)
		failed <- err
	}()
	c.exec(t, `select pg_terminate_backend($1)`, c.awaitBlocked(t, id))
	require.Equal(t, fault.Outage, fault.Of(<-failed))
	free()
	require.Equal(t, "active", c.state(t, lost))
	require.Equal(t, before, c.read(t, "a"))
	require.Empty(t, c.takeovers(t, "a"))
	require.Equal(t, 3, c.recover(t, c.scanner(t), lost).Reenqueued)
}

// K6: the failure is reported; others are not touched by it.
func lockedWorkflowFailsOneRecovery(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	stuck, lost := c.executor(t, "expired"), c.executor(t, "expired")
	c.insert(t, c.pending("stuck", stuck), c.pending("free", stuck), c.pending("a", lost))
	free := c.lock(t, "stuck")
	_, err := scanner.Recover(t.Context(), stuck)
	require.Equal(t, fault.Transient, fault.Of(err), "%v", err)
	require.ErrorContains(t, err, stuck.String())
	require.Equal(t, "PENDING", c.read(t, "free")["status"])
	require.Equal(t, "active", c.state(t, stuck))
	require.Equal(t, 1, c.recover(t, scanner, lost).Reenqueued)
	free()
	require.Equal(t, 2, c.recover(t, scanner, stuck).Reenqueued)
}

// T1: no leader; who comes second finds the row locked or the executor without work.
func scannersMoveEachWorkflowOnce(t *testing.T, c *crowd, scanners int) {
	const workflows, repeats = 500, 12
	crew := make([]*journal.Journal, scanners)
	for i := range crew {
		crew[i] = c.scanner(t)
	}
	for repeat := range repeats {
		lost := c.executor(t, "expired")
		prefix := c.name(fmt.Sprint("r", repeat))
		journaltest.Backlog(t, c.owner, lost, fixture.Application, c.version, prefix, workflows)
		moved := make([]int, scanners)
		start, all := make(chan struct{}), sync.WaitGroup{}
		for i, scanner := range crew {
			all.Go(func() {
				<-start
				for {
					list, err := scanner.Candidates(context.Background(), 100, nil)
					if err != nil || len(list) == 0 {
						break
					}
					for _, candidate := range list {
						r, err := scanner.Recover(context.Background(), candidate.ExecutorID)
						if err == nil {
							moved[i] += r.Reenqueued
						}
					}
				}
			})
		}
		close(start)
		all.Wait()
		sum := 0
		for _, m := range moved {
			sum += m
		}
		for c.state(t, lost) == "active" { // everybody skipped what another held for a moment
			sum += c.recover(t, crew[0], lost).Reenqueued
		}
		require.Equal(t, workflows, sum)
		require.Equal(t, workflows, one[int](t, c.owner, `select count(*) from workflow_coordination.takeover where lost_executor = $1`, lost))
		require.Equal(t, workflows, one[int](t, c.owner, `select count(distinct workflow_id) from workflow_coordination.takeover where lost_executor = $1`, lost))
		require.Equal(t, workflows, one[int](t, c.owner, `select count(*) from dbos.workflow_status
			where executor_id = $1::uuid::text and status = 'ENQUEUED' and recovery_attempts = 1`, lost))
	}
}

// K6: one transaction carries a whole backlog, and nobody's lease waits for it.
func tenThousandMoveWhole(t *testing.T, c *crowd) {
	const workflows = 10_000
	scanner, _ := c.patient(t)
	lost, peer := c.executor(t, "expired"), c.executor(t, "live")
	journaltest.Backlog(t, c.owner, lost, fixture.Application, c.version, c.name("mass"), workflows)
	ctx, cancel := context.WithCancel(t.Context())
	slowest := make(chan time.Duration, 1)
	renewals := c.pool(t, peer)
	go func() {
		var longest time.Duration
		for ctx.Err() == nil {
			sent := time.Now()
			if _, err := renewals.Exec(context.Background(), `select workflow_coordination.renew_executor($1)`, peer); err != nil {
				longest = time.Hour
			}
			longest = max(longest, time.Since(sent))
		}
		slowest <- longest
	}()
	began := time.Now()
	r := c.recover(t, scanner, lost)
	took := time.Since(began)
	cancel()
	longest := <-slowest
	t.Logf("%d workflows moved in %s; a peer's slowest renewal meanwhile took %s", workflows, took, longest)
	require.Equal(t, workflows, r.Reenqueued)
	require.Less(t, took, 10*time.Second)
	require.Less(t, longest, fixture.Timing().Scale(10).RenewAttempt)
}
