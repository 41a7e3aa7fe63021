package journal_test

import (
	"maps"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

// rules are named by what they prove; each gets a crowd of its own in one shared database.
type rules map[string]func(*testing.T, *crowd)

func TestRecovery(t *testing.T) {
	t.Parallel()
	db := fixture.Copy(t)
	all := rules{}
	for _, some := range []rules{moving(), leaving(), poison(), suspects(), probes(), limits(), races()} {
		maps.Copy(all, some)
	}
	for name, rule := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, newCrowd(t, db))
		})
	}
}

// What recovery moves, and where to (T2, T3, T4, T5).
func moving() rules {
	return rules{
		"EveryOtherColumnIsPreserved":                         everyOtherColumnIsPreserved,
		"DirectWorkflowsAndChildrenGoToTheInternalQueue":      directWorkflowsGoToTheInternalQueue,
		"CheckpointsInputAndOutputStay":                       recordsStay,
		"LateWorkOfARevokedOrReleasedExecutorIsRecovered":     lateWorkIsRecovered,
		"AnExpiredExecutorWithoutWorkIsRevokedOnce":           idleExecutorIsRevokedOnce,
		"ALiveExecutorIsNeitherListedNorRevoked":              liveExecutorIsLeftAlone,
		"AScannerNeverRecoversItself":                         scannerNeverRecoversItself,
		"AScannerWithoutAValidLeaseMovesNothing":              scannerWithoutLeaseMovesNothing,
		"AnExecutorOfAnotherVersionIsNeitherListedNorRevoked": otherVersionIsLeftAlone,
		"AnExecutorThatNobodyRegisteredIsNotRecovered":        unknownExecutorIsNotRecovered,
	}
}

func directWorkflowsGoToTheInternalQueue(t *testing.T, c *crowd) {
	lost := c.executor(t, "expired")
	c.insert(t,
		c.pending("direct-null", lost).With("queue_name", nil),
		c.pending("direct-empty", lost).With("queue_name", ""),
		c.pending("child", lost).With("queue_name", nil).With("parent_workflow_id", c.name("direct-null")),
		c.pending("queued", lost))
	r := c.recover(t, c.scanner(t), lost)
	require.Equal(t, journal.Recovery{Outcome: "recovered", Cause: "expired", Reenqueued: 4, Quarantined: []string{}, LastChance: []string{}}, r)
	for _, id := range []string{"direct-null", "direct-empty", "child"} {
		row := c.read(t, id)
		require.Equal(t, "ENQUEUED", row["status"])
		require.Equal(t, journal.InternalQueue, row["queue_name"])
	}
	require.Equal(t, "orders", c.read(t, "queued")["queue_name"])
	require.Equal(t, "revoked", c.state(t, lost))
}

func recordsStay(t *testing.T, c *crowd) {
	lost := c.executor(t, "expired")
	c.insert(t, c.pending("a", lost))
	journaltest.Records(t, c.owner, c.name("a"))
	c.recover(t, c.scanner(t), lost)
	require.Equal(t, 3, journaltest.CountRecords(t, c.owner, c.name("a")))
	require.Equal(t, 1, c.takeovers(t, "a")[0].Checkpoints)
}

// T5: a paused runner can claim after it was revoked, and a claim can be committed while the SDK stops.
func lateWorkIsRecovered(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	for _, state := range []string{"revoked", "released"} {
		lost := c.executor(t, state)
		require.NotContains(t, c.candidates(t, scanner), lost)
		c.insert(t, c.pending(state, lost))
		require.Contains(t, c.candidates(t, scanner), lost)
		r := c.recover(t, scanner, lost)
		require.Equal(t, state, r.Cause)
		require.Equal(t, 1, r.Reenqueued)
		require.Equal(t, state, c.state(t, lost))
		require.NotContains(t, c.candidates(t, scanner), lost)
	}
}

func idleExecutorIsRevokedOnce(t *testing.T, c *crowd) {
	scanner, lost := c.scanner(t), c.executor(t, "expired")
	require.Equal(t, []uuid.UUID{lost}, c.candidates(t, scanner))
	require.Zero(t, c.recover(t, scanner, lost).Reenqueued)
	require.Empty(t, c.candidates(t, scanner))
	require.Equal(t, "revoked", c.state(t, lost))
}

func liveExecutorIsLeftAlone(t *testing.T, c *crowd) {
	scanner, peer := c.scanner(t), c.executor(t, "live")
	c.insert(t, c.pending("a", peer))
	require.Empty(t, c.candidates(t, scanner))
	before := c.read(t, "a")
	r, err := scanner.Recover(t.Context(), peer)
	require.NoError(t, err)
	require.Equal(t, "alive", r.Outcome)
	require.Equal(t, before, c.read(t, "a"))
	require.Equal(t, "active", c.state(t, peer))
}

func scannerNeverRecoversItself(t *testing.T, c *crowd) {
	id := c.executor(t, "live")
	own := journal.Open(c.pool(t, id), id)
	r, err := own.Recover(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "alive", r.Outcome)
	require.Equal(t, "active", c.state(t, id))
}

func scannerWithoutLeaseMovesNothing(t *testing.T, c *crowd) {
	lost := c.executor(t, "expired")
	c.insert(t, c.pending("a", lost))
	before := c.read(t, "a")
	for _, state := range []string{"expired", "revoked", "released"} {
		id := c.executor(t, state)
		scanner := journal.Open(c.pool(t, id), id)
		_, err := scanner.Recover(t.Context(), lost)
		require.Equal(t, fault.Fenced, fault.Of(err), "%s: %v", state, err)
		_, err = scanner.Candidates(t.Context(), 100, nil)
		require.Equal(t, fault.Fenced, fault.Of(err), "%s: %v", state, err)
	}
	stranger := uuid.New()
	_, err := journal.Open(c.pool(t, stranger), stranger).Recover(t.Context(), lost)
	require.Equal(t, fault.Fenced, fault.Of(err))
	require.Equal(t, before, c.read(t, "a"))
	require.Empty(t, c.takeovers(t, "a"))
	require.Equal(t, "active", c.state(t, lost))
}

func otherVersionIsLeftAlone(t *testing.T, c *crowd) {
	other := newCrowd(t, c.db)
	lost := other.executor(t, "expired")
	other.insert(t, other.pending("a", lost))
	scanner := c.scanner(t)
	require.Empty(t, c.candidates(t, scanner))
	r, err := scanner.Recover(t.Context(), lost)
	require.NoError(t, err)
	require.False(t, r.Recovered())
	require.Equal(t, "active", c.state(t, lost))
	require.Equal(t, "PENDING", other.read(t, "a")["status"])
}

func unknownExecutorIsNotRecovered(t *testing.T, c *crowd) {
	ghost := uuid.New()
	c.insert(t, c.pending("a", ghost))
	scanner := c.scanner(t)
	require.Empty(t, c.candidates(t, scanner))
	r, err := scanner.Recover(t.Context(), ghost)
	require.NoError(t, err)
	require.False(t, r.Recovered())
	require.Equal(t, "PENDING", c.read(t, "a")["status"])
}

// What recovery leaves alone (T3, O4). Each row belongs to an ended executor, or seems to.
func leaving() rules {
	return rules{
		"WhatIsNotSurelyOursIsNeitherListedNorMoved": foreignWorkIsNeitherListedNorMoved,
		"FinishedAndWaitingWorkIsUntouched":          finishedAndWaitingWorkIsUntouched,
	}
}

func foreignWorkIsNeitherListedNorMoved(t *testing.T, c *crowd) {
	scanner := c.scanner(t)
	for name, row := range map[string]func(journaltest.Row) journaltest.Row{
		"other application":    func(r journaltest.Row) journaltest.Row { return r.With("application_name", "kesita-other") },
		"no application":       func(r journaltest.Row) journaltest.Row { return r.With("application_name", nil) },
		"other version":        func(r journaltest.Row) journaltest.Row { return r.With("application_version", "kesita-shop-v0") },
		"no version":           func(r journaltest.Row) journaltest.Row { return r.With("application_version", nil) },
		"empty id":             func(r journaltest.Row) journaltest.Row { return r.With("workflow_uuid", "") },
		"owner local":          func(r journaltest.Row) journaltest.Row { return r.With("executor_id", "local") },
		"owner empty":          func(r journaltest.Row) journaltest.Row { return r.With("executor_id", "") },
		"owner null":           func(r journaltest.Row) journaltest.Row { return r.With("executor_id", nil) },
		"owner not registered": func(r journaltest.Row) journaltest.Row { return r.With("executor_id", uuid.NewString()) },
	} {
		for _, state := range []string{"released", "revoked"} {
			lost := c.executor(t, state)
			planted := row(c.pending(name+" "+state, lost))
			c.insert(t, planted)
			id, _ := planted["workflow_uuid"].(string)
			before := journaltest.Read(t, c.owner, id)
			require.NotContains(t, c.candidates(t, scanner), lost, name)
			require.Zero(t, c.recover(t, scanner, lost).Reenqueued, name)
			require.Equal(t, before, journaltest.Read(t, c.owner, id), name)
			if id == "" {
				c.exec(t, `delete from dbos.workflow_status where workflow_uuid = ''`)
			}
		}
	}
}

func finishedAndWaitingWorkIsUntouched(t *testing.T, c *crowd) {
	scanner, lost := c.scanner(t), c.executor(t, "expired")
	states := []string{"ENQUEUED", "DELAYED", "SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}
	before := map[string]journaltest.Row{}
	for _, status := range states {
		c.insert(t, c.pending(status, lost).With("status", status))
		before[status] = c.read(t, status)
	}
	require.Zero(t, c.recover(t, scanner, lost).Reenqueued)
	require.NotContains(t, c.candidates(t, scanner), lost)
	for _, status := range states {
		require.Equal(t, before[status], c.read(t, status))
		require.Empty(t, c.takeovers(t, status))
	}
}
