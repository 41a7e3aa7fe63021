package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
)

// What happens to a workflow after it lost its last allowed worker (P2, P3). The quarantine is one for all versions, so
// each rule has a database of its own.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	for name, rule := range (rules{
		"FiveSettlersSideBySideSignalAndSettleEachWorkflowOnce": settlersSideBySide,
		"ASignalWhoseTransactionDiesIsToldAgainAndNeverLost":    dyingSignalIsToldAgain,
		"ASettlementWhoseTransactionDiesIsDoneAgainAtOnce":      dyingSettlementIsDoneAgain,
		"ASettlementThatIsCancelledIsDoneAgainAtOnce":           cancelledSettlementIsDoneAgain,
		"AFailureThatTookItsTransactionWithItCountsAllTheSame":  failureWithoutTransactionCounts,
		"AFailedSettlementWaitsForItsPauseAndHoldsNoOtherUp":    failedSettlementWaits,
		"WhatTheSDKGaveUpIsAdoptedOnceWithTheQueueItHad":        adoptedOnce,
		"AnotherVersionSettlesOnlyWhatNobodyOfItsOwnIsLeftFor":  otherVersionSettlesLast,
		"AnExecutorWithoutAValidLeaseTouchesNothing":            endedExecutorTouchesNothing,
		"ASettledWorkflowStaysAndIsNeverSettledAgain":           settledStays,
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, newCrowd(t, fixture.Copy(t)))
		})
	}
}

// exhaust puts workflows into the quarantine, as a recovery does.
func (c *crowd) exhaust(t require.TestingT, ids ...string) {
	lost := uuid.New()
	for _, id := range ids {
		c.insert(t, c.pending(id, lost).With("status", "MAX_RECOVERY_ATTEMPTS_EXCEEDED").With("queue_name", nil).With("recovery_attempts", 4))
		c.exec(t, `insert into workflow_coordination.quarantine (workflow_id, workflow_name, queue_name, attempts, reason, lost_executor)
			values ($1, 'shop.order', 'orders', 4, 'attempts_exhausted', $2)`, c.name(id), lost)
	}
}

// settler is a live executor's view of the journal, and how to end its sessions from outside.
func (c *crowd) settler(t testing.TB) (own *journal.Journal, kill func()) {
	t.Helper()
	id := c.executor(t, "live")
	return journal.Open(c.pool(t, id), id), func() {
		c.exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kesita:' || $1::text`, id)
	}
}

func soon(int) time.Duration { return 100 * time.Millisecond }

func nothing(context.Context, string, string) error { return nil }

func ignore(journal.Exhausted) {}

// unsettled is how often each workflow's settlement failed, of those that are not settled.
func (c *crowd) unsettled(t require.TestingT) string {
	return one[string](t, c.owner, `select coalesce(string_agg(workflow_id || '=' || settle_failures, ' ' order by workflow_id), '')
		from workflow_coordination.quarantine where settled_at is null`)
}

func settlersSideBySide(t *testing.T, c *crowd) {
	const workflows, settlers = 250, 5
	ids := make([]string, workflows)
	for i := range ids {
		ids[i] = fmt.Sprint("w", i)
	}
	c.exhaust(t, ids...)
	var mu sync.Mutex
	told, settled := map[string]int{}, map[string]int{}
	start, all := make(chan struct{}), sync.WaitGroup{}
	for range settlers {
		own := c.scanner(t)
		all.Go(func() {
			<-start
			for signalled := 1; signalled > 0; {
				var err error
				signalled, err = own.Signal(context.Background(), func(q journal.Exhausted) {
					mu.Lock()
					defer mu.Unlock()
					told[q.WorkflowID]++
				})
				if err != nil {
					t.Error(err)
				}
			}
			for done := (journal.Settlement{Due: true}); done.Due; {
				var err error
				done, err = own.Settle(context.Background(), func(_ context.Context, id, _ string) error {
					mu.Lock()
					defer mu.Unlock()
					settled[id]++
					return nil
				}, soon)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(start)
	all.Wait()
	require.Len(t, told, workflows)
	require.Len(t, settled, workflows)
	for _, id := range ids {
		require.Equal(t, 1, told[c.name(id)])
		require.Equal(t, 1, settled[c.name(id)])
	}
	require.Empty(t, c.unsettled(t))
}

// The line was written, or was about to be; the mark was not committed.
func dyingSignalIsToldAgain(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	own, kill := c.settler(t)
	_, err := own.Signal(t.Context(), func(journal.Exhausted) { kill() })
	require.Equal(t, fault.Outage, fault.Of(err), "%v", err)
	require.False(t, c.quarantined(t, "a").Signalled)
	again := []string{}
	for range 2 {
		_, err := c.scanner(t).Signal(t.Context(), func(q journal.Exhausted) { again = append(again, q.WorkflowID) })
		require.NoError(t, err)
	}
	require.Equal(t, []string{c.name("a")}, again)
}

func dyingSettlementIsDoneAgain(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	own, kill := c.settler(t)
	done, err := own.Settle(t.Context(), func(context.Context, string, string) error { kill(); return nil }, soon)
	require.Equal(t, fault.Outage, fault.Of(err), "%v", err)
	require.NoError(t, done.Failure, "the settlement itself did not fail")
	require.Equal(t, c.name("a")+"=0", c.unsettled(t))
	done, err = c.scanner(t).Settle(t.Context(), nothing, soon)
	require.NoError(t, err)
	require.Equal(t, journal.Settlement{WorkflowID: c.name("a"), Due: true}, done)
	require.Empty(t, c.unsettled(t))
}

func cancelledSettlementIsDoneAgain(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	own, _ := c.settler(t)
	_, err := own.Settle(ctx, func(ctx context.Context, _, _ string) error { cancel(); return ctx.Err() }, soon)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, c.name("a")+"=0", c.unsettled(t))
	done, err := c.scanner(t).Settle(t.Context(), nothing, soon)
	require.NoError(t, err)
	require.True(t, done.Due)
}

// A hook that takes longer than a transaction may idle: without the count it would be called again without a pause.
func failureWithoutTransactionCounts(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	own, kill := c.settler(t)
	slow := errors.New("too slow")
	done, err := own.Settle(t.Context(), func(context.Context, string, string) error { kill(); return slow },
		func(int) time.Duration { return time.Hour })
	require.NoError(t, err)
	require.Equal(t, journal.Settlement{WorkflowID: c.name("a"), Due: true, Failure: slow}, done)
	require.Equal(t, c.name("a")+"=1", c.unsettled(t))
	done, err = c.scanner(t).Settle(t.Context(), nothing, soon)
	require.NoError(t, err)
	require.False(t, done.Due)
}

func failedSettlementWaits(t *testing.T, c *crowd) {
	c.exhaust(t, "a", "b")
	own := c.scanner(t)
	broken := errors.New("no such task")
	asked := []int{}
	fail := func(failures int) time.Duration { asked = append(asked, failures); return time.Hour }
	hook := func(_ context.Context, id, _ string) error {
		if id == c.name("a") {
			return broken
		}
		return nil
	}
	for range 2 {
		_, err := own.Settle(t.Context(), hook, fail)
		require.NoError(t, err)
	}
	require.Equal(t, c.name("a")+"=1", c.unsettled(t), "b is settled")
	done, err := own.Settle(t.Context(), hook, fail)
	require.NoError(t, err)
	require.False(t, done.Due, "its pause is not over")
	c.exec(t, `update workflow_coordination.quarantine set settle_after = clock_timestamp() where settled_at is null`)
	done, err = c.scanner(t).Settle(t.Context(), hook, fail)
	require.NoError(t, err)
	require.Equal(t, broken, done.Failure)
	require.Equal(t, []int{1, 2}, asked)
	require.Equal(t, c.name("a")+"=2", c.unsettled(t))
}

func adoptedOnce(t *testing.T, c *crowd) {
	lost, own := c.executor(t, "revoked"), c.scanner(t)
	gaveUp := c.pending("", lost).With("status", "MAX_RECOVERY_ATTEMPTS_EXCEEDED").With("queue_name", nil).With("recovery_attempts", 5)
	c.insert(t, gaveUp.With("workflow_uuid", c.name("moved")), gaveUp.With("workflow_uuid", c.name("local")).With("executor_id", "local"),
		gaveUp.With("workflow_uuid", c.name("foreign")).With("application_name", "kesita-other"))
	c.exhaust(t, "known")
	c.exec(t, `insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, queue_name, attempts, checkpoints)
		values ($1, $2, 'expired', 'reenqueued', 'orders', 4, 0)`, c.name("moved"), lost)
	for _, want := range []int{2, 0} {
		adopted, err := own.Adopt(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, adopted)
	}
	require.Equal(t, quarantined{Name: "shop.order", Queue: "orders", Reason: "attempts_exhausted", Attempts: 5, Lost: lost}, c.quarantined(t, "moved"))
	require.Empty(t, c.quarantined(t, "local").Queue)
	told := []string{}
	_, err := own.Signal(t.Context(), func(q journal.Exhausted) { told = append(told, q.WorkflowID) })
	require.NoError(t, err)
	require.ElementsMatch(t, []string{c.name("moved"), c.name("local"), c.name("known")}, told)
}

// A new version may know what the old one cannot settle, and the other way round.
func otherVersionSettlesLast(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	next := newCrowd(t, c.db)
	peer := c.executor(t, "live")
	later := next.scanner(t)
	done, err := later.Settle(t.Context(), nothing, soon)
	require.NoError(t, err)
	require.False(t, done.Due)
	c.expire(t, peer)
	done, err = later.Settle(t.Context(), nothing, soon)
	require.NoError(t, err)
	require.True(t, done.Due)
}

func endedExecutorTouchesNothing(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	c.insert(t, c.pending("gave-up", uuid.New()).With("status", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"))
	for _, state := range []string{"expired", "revoked", "released"} {
		id := c.executor(t, state)
		own := journal.Open(c.pool(t, id), id)
		_, err := own.Adopt(t.Context())
		require.Equal(t, fault.Fenced, fault.Of(err), state)
		_, err = own.Signal(t.Context(), ignore)
		require.Equal(t, fault.Fenced, fault.Of(err), state)
		_, err = own.Settle(t.Context(), nothing, soon)
		require.Equal(t, fault.Fenced, fault.Of(err), state)
	}
	require.Equal(t, c.name("a")+"=0", c.unsettled(t))
	require.False(t, c.quarantined(t, "a").Signalled)
}

// P3: the terminal row outlives its settlement.
func settledStays(t *testing.T, c *crowd) {
	c.exhaust(t, "a")
	own := c.scanner(t)
	for i := range 3 {
		done, err := own.Settle(t.Context(), nothing, soon)
		require.NoError(t, err)
		require.Equal(t, i == 0, done.Due)
	}
	require.True(t, c.quarantined(t, "a").Settled)
	require.Equal(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", c.read(t, "a")["status"])
}
