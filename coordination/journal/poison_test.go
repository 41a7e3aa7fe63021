package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
)

// How often work may lose its worker (P1, P2, K3).
func poison() rules {
	return rules{
		"FourLostWorkersQuarantineAWorkflowInTheSameTransaction": fourLostWorkersQuarantine,
		"TheAdapterNeverCountsAnAttempt":                         adapterNeverCounts,
		"AnOrderlyStopTakesItsClaimBack":                         orderlyStopTakesItsClaimBack,
		"AClaimThatWasNeverMadeIsNotTakenBack":                   missingClaimIsNotTakenBack,
		"AHundredClaimsQuarantineHoweverOrderlyTheStops":         hundredClaimsQuarantine,
		"AnAbortedRecoveryLeavesNoQuarantineBehind":              abortedRecoveryLeavesNoQuarantine,
	}
}

// quarantined is one row of the quarantine table.
type quarantined struct {
	Name, Queue, Dedup, Reason string
	Attempts                   int
	Lost                       uuid.UUID
	Signalled, Settled         bool
}

func (c *crowd) quarantined(t require.TestingT, id string) (q quarantined) {
	require.NoError(t, c.owner.QueryRow(t.(testing.TB).Context(), `select coalesce(workflow_name, ''), coalesce(queue_name, ''), coalesce(deduplication_id, ''),
		reason, attempts, lost_executor, signalled_at is not null, settled_at is not null
		from workflow_coordination.quarantine where workflow_id = $1`, c.name(id)).
		Scan(&q.Name, &q.Queue, &q.Dedup, &q.Reason, &q.Attempts, &q.Lost, &q.Signalled, &q.Settled))
	return q
}

func fourLostWorkersQuarantine(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	var lost uuid.UUID
	for attempt := 1; attempt <= 4; attempt++ {
		lost = c.executor(t, "expired")
		if attempt == 1 {
			c.insert(t, c.pending("poison", lost).With("deduplication_id", c.name("once")), c.pending("neighbour", lost))
		} else {
			c.claim(t, "poison", lost)
		}
		r := c.recover(t, scanner, lost)
		if attempt < 4 {
			require.Empty(t, r.Quarantined)
			c.releaseSuspect(t, scanner, attempt >= 2)
			require.Equal(t, "ENQUEUED", c.read(t, "poison")["status"])
			continue
		}
		require.Equal(t, []string{c.name("poison")}, r.Quarantined)
		require.Zero(t, r.Reenqueued)
	}
	row := c.read(t, "poison")
	require.Equal(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", row["status"])
	require.Nil(t, row["queue_name"])
	require.Nil(t, row["deduplication_id"])
	require.NotNil(t, row["completed_at"])
	require.InDelta(t, 4, row["recovery_attempts"], 0)
	require.Equal(t, quarantined{
		Name: "shop.order", Queue: "orders", Dedup: c.name("once"), Reason: "attempts_exhausted", Attempts: 4, Lost: lost,
	}, c.quarantined(t, "poison"))
	history := c.takeovers(t, "poison")
	var actions []string
	for _, h := range history {
		actions = append(actions, h.Action)
	}
	require.Equal(t, []string{"reenqueued", "held", "reenqueued", "held", "reenqueued", "quarantined"}, actions)
	last := history[len(history)-1]
	require.Equal(t, "orders", *last.Queue)
	require.Equal(t, lost, last.Lost)
	require.Equal(t, "ENQUEUED", c.read(t, "neighbour")["status"])
	require.NotContains(t, c.candidates(t, scanner), lost)
}

// releaseSuspect lets a held workflow go and proves that one was waiting, or that none was.
func (c *crowd) releaseSuspect(t require.TestingT, scanner *journal.Journal, expected bool) {
	released, err := scanner.ReleaseSuspect(t.(testing.TB).Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, expected, released != "", released)
}

// claim does what the SDK's dequeue does to a row.
func (c *crowd) claim(t require.TestingT, id string, executor uuid.UUID) {
	c.exec(t, `update dbos.workflow_status set status = 'PENDING', executor_id = $2::uuid::text, started_at_epoch_ms = 1,
		recovery_attempts = recovery_attempts + 1 where workflow_uuid = $1 and status = 'ENQUEUED'`, c.name(id), executor)
}

func adapterNeverCounts(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	for attempts := range 4 {
		for _, state := range []string{"expired", "revoked"} {
			id, lost := fmt.Sprint(state, attempts), c.executor(t, state)
			c.insert(t, c.pending(id, lost).With("recovery_attempts", attempts))
			r := c.recover(t, scanner, lost)
			require.Equal(t, 1, r.Reenqueued+r.Held)
			require.InDelta(t, attempts, c.read(t, id)["recovery_attempts"], 0)
		}
	}
}

func (c *crowd) refunds(t require.TestingT, id string) int {
	return one[int](t, c.owner, `select coalesce(sum(refunds), 0) from workflow_coordination.claim_refund where workflow_id = $1`, c.name(id))
}

// K3: a workflow that waits for weeks outlives weekly deployments.
func orderlyStopTakesItsClaimBack(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	lost := c.executor(t, "released")
	c.insert(t, c.pending("a", lost))
	for deploy := 1; deploy <= 10; deploy++ {
		require.Equal(t, 1, c.recover(t, scanner, lost).Reenqueued)
		require.InDelta(t, 0, c.read(t, "a")["recovery_attempts"], 0)
		require.Equal(t, deploy, c.refunds(t, "a"))
		lost = c.executor(t, "released")
		c.claim(t, "a", lost)
	}
	fourth := c.executor(t, "released")
	c.insert(t, c.pending("b", fourth).With("recovery_attempts", 4))
	require.Empty(t, c.recover(t, scanner, fourth).Quarantined)
	require.InDelta(t, 3, c.read(t, "b")["recovery_attempts"], 0)
}

func missingClaimIsNotTakenBack(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.exec(t, `insert into workflow_coordination.claim_refund (workflow_id, refunds) values ($1, 3)`, c.name("zero"))
	for id, attempts := range map[string]any{"zero": 0, "null": nil} {
		lost := c.executor(t, "released")
		c.insert(t, c.pending(id, lost).With("recovery_attempts", attempts))
		require.Equal(t, 1, c.recover(t, scanner, lost).Reenqueued)
		require.InDelta(t, 0, c.read(t, id)["recovery_attempts"], 0)
	}
	require.Equal(t, 3, c.refunds(t, "zero"))
	require.Zero(t, c.refunds(t, "null"))
}

func hundredClaimsQuarantine(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	for id, claims := range map[string]int{"almost": journal.ClaimCeiling - 1, "ceiling": journal.ClaimCeiling} {
		lost := c.executor(t, "released")
		c.exec(t, `insert into workflow_coordination.claim_refund (workflow_id, refunds) values ($1, $2)`, c.name(id), claims-1)
		c.insert(t, c.pending(id, lost))
		c.recover(t, scanner, lost)
	}
	require.Equal(t, "ENQUEUED", c.read(t, "almost")["status"])
	require.Equal(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", c.read(t, "ceiling")["status"])
	require.Equal(t, "claim_ceiling", c.quarantined(t, "ceiling").Reason)
}

// P2: quarantine is part of the recovery transaction, so nothing of it is left when that fails.
func abortedRecoveryLeavesNoQuarantine(t *testing.T, c *crowd) {
	lost := c.executor(t, "expired")
	c.insert(t, c.pending("poison", lost).With("recovery_attempts", 4), c.pending("locked", lost))
	before := c.read(t, "poison")
	free := c.lock(t, "locked")
	_, err := c.scanner(t).Recover(t.Context(), lost)
	require.Error(t, err)
	free()
	require.Equal(t, before, c.read(t, "poison"))
	require.Zero(t, one[int](t, c.owner, `select count(*) from workflow_coordination.quarantine where workflow_id = $1`, c.name("poison")))
	require.Empty(t, c.takeovers(t, "poison"))
	require.Equal(t, "active", c.state(t, lost))
}

// What happens to diagnostic records (D13).
func probes() rules {
	return rules{
		"ProbesAndPrivateQueuesOfEndedExecutorsAreRemovedAndNeverReenqueued": probesAreRemoved,
		"AnExecutorRemovesItsOwnProbe":                                       executorRemovesItsOwnProbe,
	}
}

func (c *crowd) probe(t *testing.T, executor uuid.UUID, status string) (name string) {
	name = "kesita-probe-" + executor.String()
	c.exec(t, `insert into dbos.queues (queue_id, name, application_name) values ($1, $1, 'kesita-shop')`, name)
	c.insert(t, c.pending("", executor).With("workflow_uuid", name).With("queue_name", name).With("status", status))
	journaltest.Records(t, c.owner, name)
	return name
}

func (c *crowd) queueExists(t require.TestingT, name string) bool {
	return one[bool](t, c.owner, `select exists (select from dbos.queues where name = $1)`, name)
}

func probesAreRemoved(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	living := c.probe(t, c.executor(t, "live"), "PENDING")
	for _, state := range []string{"expired", "revoked", "released"} {
		for _, status := range []string{"ENQUEUED", "PENDING", "SUCCESS"} {
			lost := c.executor(t, state)
			name := c.probe(t, lost, status)
			require.Contains(t, c.candidates(t, scanner), lost)
			r := c.recover(t, scanner, lost)
			require.Equal(t, 1, r.ProbesRemoved)
			require.Zero(t, r.Reenqueued)
			require.Nil(t, journaltest.Read(t, c.owner, name))
			require.Zero(t, journaltest.CountRecords(t, c.owner, name))
			require.False(t, c.queueExists(t, name))
			require.NotContains(t, c.candidates(t, scanner), lost)
		}
	}
	require.NotNil(t, journaltest.Read(t, c.owner, living))
	require.True(t, c.queueExists(t, living))
}

func executorRemovesItsOwnProbe(t *testing.T, c *crowd) {
	id := c.executor(t, "live")
	own := journal.Open(c.pool(t, id), id)
	name := c.probe(t, id, "SUCCESS")
	require.Equal(t, name, own.ProbeQueue())
	require.NoError(t, own.RemoveProbe(t.Context()))
	require.Nil(t, journaltest.Read(t, c.owner, name))
	require.Zero(t, journaltest.CountRecords(t, c.owner, name))
	require.False(t, c.queueExists(t, name))
	require.NoError(t, own.RemoveProbe(t.Context()))
}
