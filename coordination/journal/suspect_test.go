package journal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
)

// What joint deaths do to the innocent (X3, K8).
func suspects() rules {
	return rules{
		"ANeighbourOfAPoisonWorkflowLosesAtMostTwoWorkers":          neighboursLoseAtMostTwo,
		"OneSuspectIsOnProbationAtATimeHoweverManyScanners":         oneSuspectAtATime,
		"AHeldSuspectKeepsItsRowAndIsNoReasonToScan":                heldSuspectKeepsItsRow,
		"ProbationEndsWhenTheSuspectHasRunLongEnough":               probationEndsWithTime,
		"ASuspectThatAnOrderlyStopReturnsStaysOnProbation":          orderlyStopKeepsProbation,
		"AHeldSuspectThatWasCancelledIsForgotten":                   cancelledSuspectIsForgotten,
		"AClaimThatNeverRanGoesBackUncountedAndOnlyOnce":            strayGoesBackUncounted,
		"AClaimWithALostOutcomeGoesBackCounted":                     lostOutcomeGoesBackCounted,
		"AStrayThatRanFourTimesIsQuarantined":                       strayThatRanFourTimes,
		"AStrayThatNeverRunsIsQuarantinedAtTheHundredthClaim":       strayThatNeverRuns,
		"AnUnknownWorkflowIsParkedOutOfEveryQueueUntilItIsUnparked": unknownWorkflowIsParked,
	}
}

// claimWaiting does what a worker's dequeue does to everything that waits, and returns the names.
func (c *crowd) claimWaiting(t require.TestingT, executor uuid.UUID) []string {
	rows, err := c.owner.Query(context.Background(), `update dbos.workflow_status set status = 'PENDING', executor_id = $2::uuid::text,
		recovery_attempts = recovery_attempts + 1, started_at_epoch_ms = floor(extract(epoch from clock_timestamp()) * 1000)
		where status = 'ENQUEUED' and application_version = $1 returning workflow_uuid`, c.version, executor)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for i := range ids {
		ids[i] = strings.TrimSuffix(ids[i], "-"+c.version)
	}
	return ids
}

// Twenty healthy workflows share every worker with a poison one, which takes four of them down, while new work keeps
// coming. Each innocent one ends; the poison one is quarantined after four losses.
func neighboursLoseAtMostTwo(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.insert(t, c.pending("poison", uuid.New()).With("status", "ENQUEUED").With("recovery_attempts", 0))
	innocent := 0
	add := func(count int) {
		for range count {
			innocent++
			c.insert(t, c.pending(fmt.Sprintf("innocent-%02d", innocent), uuid.New()).With("status", "ENQUEUED").With("recovery_attempts", 0))
		}
	}
	add(20)
	deaths := 0
	for range 200 {
		worker := c.executor(t, "live")
		claimed := c.claimWaiting(t, worker)
		if len(claimed) == 0 {
			break
		}
		if slices.Contains(claimed, "poison") {
			deaths++
			c.expire(t, worker)
			c.recover(t, scanner, worker)
			add(2)
		} else {
			c.exec(t, `update dbos.workflow_status set status = 'SUCCESS' where status = 'PENDING' and executor_id = $1::uuid::text`, worker)
		}
		_, err := scanner.ReleaseSuspect(t.Context(), time.Hour)
		require.NoError(t, err)
	}
	require.Equal(t, journal.MaxAttempts, deaths)
	require.Equal(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", c.read(t, "poison")["status"])
	for i := 1; i <= innocent; i++ {
		row := c.read(t, fmt.Sprintf("innocent-%02d", i))
		require.Equal(t, "SUCCESS", row["status"], "innocent-%02d", i)
		require.LessOrEqual(t, row["recovery_attempts"], float64(3), "two losses and the run that succeeded")
	}
	require.Zero(t, one[int](t, c.owner, `select count(*) from workflow_coordination.suspect where application_version = $1`, c.version))
}

// hold makes count workflows suspects of one lost executor.
func (c *crowd) hold(t testing.TB, scanner *journal.Journal, count int) (lost uuid.UUID) {
	t.Helper()
	lost = c.executor(t, "expired")
	for i := range count {
		c.insert(t, c.pending(fmt.Sprint("suspect-", i), lost).With("recovery_attempts", 2))
	}
	require.Equal(t, count, c.recover(t, scanner, lost).Held)
	return lost
}

func oneSuspectAtATime(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.hold(t, scanner, 5)
	released := make(chan string, 8)
	for range 8 {
		peer := c.scanner(t)
		go func() {
			id, err := peer.ReleaseSuspect(context.Background(), time.Hour)
			if err != nil {
				id = err.Error()
			}
			released <- id
		}()
	}
	var some []string
	for range 8 {
		if id := <-released; id != "" {
			some = append(some, id)
		}
	}
	require.Len(t, some, 1)
	require.Equal(t, 1, one[int](t, c.owner, `select count(*) from dbos.workflow_status where application_version = $1 and status = 'ENQUEUED'`, c.version))
}

func heldSuspectKeepsItsRow(t *testing.T, c *crowd) {
	scanner, lost := c.scanner(t), c.executor(t, "expired")
	c.insert(t, c.pending("suspect", lost).With("recovery_attempts", 2).With("deduplication_id", c.name("once")))
	before := c.read(t, "suspect")
	require.Equal(t, 1, c.recover(t, scanner, lost).Held)
	require.Equal(t, before, c.read(t, "suspect"))
	require.NotContains(t, c.candidates(t, scanner), lost)
	require.Zero(t, c.recover(t, scanner, lost).Held, "it is held once")
	c.releaseSuspect(t, scanner, true)
	row := c.read(t, "suspect")
	require.Equal(t, "ENQUEUED", row["status"])
	for _, column := range []string{"queue_name", "deduplication_id", "recovery_attempts", "workflow_deadline_epoch_ms"} {
		require.Equal(t, before[column], row[column], column)
	}
}

func probationEndsWithTime(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.hold(t, scanner, 2)
	c.releaseSuspect(t, scanner, true)
	worker := c.executor(t, "live")
	require.Len(t, c.claimWaiting(t, worker), 1)
	c.releaseSuspect(t, scanner, false)
	c.exec(t, `update dbos.workflow_status set started_at_epoch_ms = started_at_epoch_ms - 61000 where application_version = $1 and executor_id = $2::uuid::text`,
		c.version, worker)
	c.releaseSuspect(t, scanner, true)
}

func orderlyStopKeepsProbation(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.hold(t, scanner, 2)
	c.releaseSuspect(t, scanner, true)
	worker := c.executor(t, "released")
	require.Len(t, c.claimWaiting(t, worker), 1)
	r := c.recover(t, scanner, worker)
	require.Equal(t, []int{1, 0}, []int{r.Reenqueued, r.Held})
	c.releaseSuspect(t, scanner, false)
}

func cancelledSuspectIsForgotten(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	c.hold(t, scanner, 1)
	c.exec(t, `update dbos.workflow_status set status = 'CANCELLED' where application_version = $1`, c.version)
	c.releaseSuspect(t, scanner, false)
	require.Zero(t, one[int](t, c.owner, `select count(*) from workflow_coordination.suspect where application_version = $1`, c.version))
}

// stray makes one workflow that the executor claimed, and returns its claim as the executor sees it.
func (c *crowd) stray(t testing.TB) (*journal.Journal, journal.Claim) {
	t.Helper()
	id := c.executor(t, "live")
	own := journal.Open(c.pool(t, id), id)
	c.insert(t, c.pending("stray", id).With("status", "ENQUEUED").With("recovery_attempts", 1))
	require.Len(t, c.claimWaiting(t, id), 1)
	claims, err := own.OwnClaims(t.Context())
	require.NoError(t, err)
	require.Len(t, claims, 1)
	return own, claims[0]
}

func strayGoesBackUncounted(t *testing.T, c *crowd) {
	own, claim := c.stray(t)
	done, err := own.ReturnClaim(t.Context(), claim, journal.Return{Refund: true})
	require.NoError(t, err)
	require.Equal(t, journal.BackInQueue, done)
	row := c.read(t, "stray")
	require.Equal(t, "ENQUEUED", row["status"])
	require.Equal(t, "orders", row["queue_name"])
	require.InDelta(t, 1, row["recovery_attempts"], 0)
	peer := c.executor(t, "live")
	require.Len(t, c.claimWaiting(t, peer), 1)
	require.Equal(t, 1, c.refunds(t, "stray"), "the ceiling counts it")
	done, err = own.ReturnClaim(t.Context(), claim, journal.Return{Refund: true})
	require.NoError(t, err)
	require.Equal(t, journal.MovedOn, done, "the row belongs to a peer now")
	require.Equal(t, "returned", c.takeovers(t, "stray")[0].Action)
}

func lostOutcomeGoesBackCounted(t *testing.T, c *crowd) {
	own, claim := c.stray(t)
	done, err := own.ReturnClaim(t.Context(), claim, journal.Return{})
	require.NoError(t, err)
	require.Equal(t, journal.BackInQueue, done)
	require.InDelta(t, 2, c.read(t, "stray")["recovery_attempts"], 0)
}

// P1: a claim whose outcome is lost again and again uses its attempts up, and no fifth one is made.
func strayThatRanFourTimes(t *testing.T, c *crowd) {
	own, claim := c.stray(t)
	c.exec(t, `update dbos.workflow_status set recovery_attempts = 4, deduplication_id = $1 where workflow_uuid = $1`, c.name("stray"))
	done, err := own.ReturnClaim(t.Context(), claim, journal.Return{})
	require.NoError(t, err)
	require.Equal(t, journal.OutOfAttempts, done)
	row, q := c.read(t, "stray"), c.quarantined(t, "stray")
	require.Equal(t, []any{"MAX_RECOVERY_ATTEMPTS_EXCEEDED", nil, nil}, []any{row["status"], row["queue_name"], row["deduplication_id"]})
	require.NotNil(t, row["completed_at"])
	require.Equal(t, []any{"orders", c.name("stray"), "attempts_exhausted", 4, false}, []any{q.Queue, q.Dedup, q.Reason, q.Attempts, q.Signalled})
	require.Equal(t, "quarantined", c.takeovers(t, "stray")[0].Action)
}

// K3: what fails before it starts, each time, does not go round for ever.
func strayThatNeverRuns(t *testing.T, c *crowd) {
	own, claim := c.stray(t)
	c.exec(t, `insert into workflow_coordination.claim_refund values ($1, 97)`, c.name("stray"))
	for _, want := range []journal.Returned{journal.BackInQueue, journal.OutOfAttempts} {
		done, err := own.ReturnClaim(t.Context(), claim, journal.Return{Refund: true})
		require.NoError(t, err)
		require.Equal(t, want, done)
		c.claimWaiting(t, uuid.MustParse(c.read(t, "stray")["executor_id"].(string)))
		list, err := own.OwnClaims(t.Context())
		require.NoError(t, err)
		if len(list) > 0 {
			claim = list[0]
		}
	}
	require.Equal(t, "claim_ceiling", c.quarantined(t, "stray").Reason)
}

func unknownWorkflowIsParked(t *testing.T, c *crowd) {
	own, claim := c.stray(t)
	returned, err := own.ReturnClaim(t.Context(), claim, journal.Return{Refund: true, Park: true})
	require.NoError(t, err)
	require.Equal(t, journal.Parked, returned)
	row := c.read(t, "stray")
	require.Equal(t, []any{"ENQUEUED", "kesita-parked"}, []any{row["status"], row["queue_name"]})
	done, err := journal.NewOperator(c.owner).Unpark(t.Context(), c.name("stray"))
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, "orders", c.read(t, "stray")["queue_name"])
	done, err = journal.NewOperator(c.owner).Unpark(t.Context(), c.name("stray"))
	require.NoError(t, err)
	require.False(t, done)
}
