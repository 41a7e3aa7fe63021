package journal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

const keep = 24 * time.Hour

// past is one generated workflow.
type past struct {
	id, status, application        string
	age                            time.Duration // since its end
	parent                         int           // index of its parent, or -1
	quarantined, parked, suspected bool
}

func (p past) over() bool {
	return p.status == "SUCCESS" || p.status == "ERROR" || p.status == "CANCELLED"
}

// mayGo is the rule, written down a second time.
func mayGo(list []past, i int) bool {
	p := list[i]
	if !p.over() || p.age <= keep || p.quarantined || p.parked || p.application == "kesita-other" {
		return false
	}
	if p.parent >= 0 && !list[p.parent].over() {
		return false
	}
	for _, child := range list {
		if child.parent == i && !child.over() {
			return false
		}
	}
	return true
}

func drawPast(rt *rapid.T) []past {
	statuses := []string{"SUCCESS", "SUCCESS", "SUCCESS", "ERROR", "CANCELLED", "PENDING", "ENQUEUED", "DELAYED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}
	list := make([]past, rapid.IntRange(1, 12).Draw(rt, "workflows"))
	for i := range list {
		rarely := func(what string) bool { return rapid.IntRange(0, 9).Draw(rt, what) == 0 }
		list[i] = past{
			id: uuid.NewString(), status: rapid.SampledFrom(statuses).Draw(rt, "status"), parent: rapid.IntRange(-1, i-1).Draw(rt, "parent"),
			application: rapid.SampledFrom([]string{fixture.Application, fixture.Application, fixture.Application, "", "kesita-other"}).Draw(rt, "application"),
			age:         keep + time.Duration(rapid.SampledFrom([]int{-60, 60, 60, 60, 600}).Draw(rt, "age"))*time.Second,
			quarantined: rarely("quarantined"), parked: rarely("parked"), suspected: rarely("suspect"),
		}
	}
	return list
}

// put writes a workflow with a record in every table that knows it.
func (c *crowd) put(t require.TestingT, list []past, p past) {
	ended := time.Now().Add(-p.age).UnixMilli()
	row := journaltest.Pending(p.id, uuid.New(), p.application, c.version).With("status", p.status)
	if p.application == "" {
		row = row.With("application_name", nil)
	}
	if p.parent >= 0 {
		row = row.With("parent_workflow_id", list[p.parent].id)
	}
	if p.over() || p.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED" {
		row = row.With("completed_at", ended)
	}
	c.insert(t, row)
	journaltest.Records(t, c.owner, p.id)
	for _, sql := range []string{
		`insert into dbos.notifications (message_uuid, destination_uuid, message) values (gen_random_uuid()::text, $1, 'm')`,
		`insert into dbos.workflow_events (workflow_uuid, key, value) values ($1, 'k', 'v')`,
		`insert into dbos.workflow_events_history (workflow_uuid, function_id, key, value) values ($1, 1, 'k', 'v')`,
		`insert into dbos.streams (workflow_uuid, key, value, "offset", function_id) values ($1, 'k', 'v', 0, 1)`,
		`insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, attempts, checkpoints)
			values ($1, gen_random_uuid(), 'expired', 'reenqueued', 1, 0)`,
		`insert into workflow_coordination.claim_refund values ($1, 1)`,
	} {
		c.exec(t, sql, p.id)
	}
	if p.quarantined {
		c.exec(t, `insert into workflow_coordination.quarantine (workflow_id, attempts, reason, lost_executor, settled_at)
			values ($1, 4, 'attempts_exhausted', gen_random_uuid(), now())`, p.id)
	}
	if p.parked {
		c.exec(t, `insert into workflow_coordination.parked (workflow_id, parked_by) values ($1, gen_random_uuid())`, p.id)
	}
	if p.suspected {
		c.exec(t, `insert into workflow_coordination.suspect (workflow_id, application_name, application_version, losses) values ($1, 'a', 'v', 2)`, p.id)
	}
}

// records counts what is left of a workflow in every table but its own.
func (c *crowd) records(t require.TestingT, id string) int {
	return journaltest.CountRecords(t, c.owner, id) + one[int](t, c.owner, `select
		(select count(*) from dbos.notifications where destination_uuid = $1) + (select count(*) from dbos.workflow_events where workflow_uuid = $1)
		+ (select count(*) from dbos.workflow_events_history where workflow_uuid = $1) + (select count(*) from dbos.streams where workflow_uuid = $1)
		+ (select count(*) from workflow_coordination.takeover where workflow_id = $1)
		+ (select count(*) from workflow_coordination.claim_refund where workflow_id = $1)`, id)
}

// round runs one whole round in batches and returns what was deleted.
func round(t require.TestingT, j *journal.Journal, limit int) (deleted int) {
	var from journal.Place
	for {
		r, err := j.Retire(context.Background(), keep, limit, from)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Examined, limit)
		require.LessOrEqual(t, r.Deleted, r.Examined)
		deleted += r.Deleted
		if r.Next == (journal.Place{}) {
			return deleted
		}
		from = r.Next
	}
}

// Whatever a workflow is: one round of the clean-up deletes exactly what is finished and old enough, with all its
// records, in batches of any size; nothing of what somebody may still need.
func TestACleanUpDeletesExactlyWhatNobodyNeedsAnyMore(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	j := c.scanner(t)
	const all = 9 // records that put makes, besides the workflow itself
	rapid.Check(t, func(rt *rapid.T) {
		list := drawPast(rt)
		for _, p := range list {
			c.put(rt, list, p)
		}
		want := 0
		for i := range list {
			if mayGo(list, i) {
				want++
			}
		}
		require.Equal(rt, want, round(rt, j, rapid.IntRange(1, 5).Draw(rt, "limit")))
		for i, p := range list {
			gone := journaltest.Read(rt, c.owner, p.id) == nil
			require.Equal(rt, mayGo(list, i), gone, "%+v", p)
			if left := c.records(rt, p.id); gone {
				require.Zero(rt, left, "%+v", p)
			} else {
				require.Equal(rt, all, left, "%+v", p)
			}
		}
		require.Zero(rt, round(rt, j, 3))
		c.exec(rt, `delete from dbos.workflow_status`)
		c.exec(rt, `delete from workflow_coordination.suspect`)
	})
}

// K10: an executor's tombstone stays when the last trace of its work is gone.
func TestACleanUpKeepsTombstones(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	j, lost := c.scanner(t), c.executor(t, "revoked")
	c.insert(t, c.pending("old", lost).With("status", "SUCCESS").With("completed_at", 1))
	require.Equal(t, 1, round(t, j, 10))
	require.Equal(t, "revoked", c.state(t, lost))
}

// F2: the clean-up is a write like any other: an executor whose lease is over deletes nothing.
func TestACleanUpByAStaleExecutorIsRefused(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	stale := c.executor(t, "expired")
	c.insert(t, c.pending("old", stale).With("status", "SUCCESS").With("completed_at", 1))
	_, err := journal.Open(c.pool(t, stale), stale).Retire(t.Context(), keep, 10, journal.Place{})
	require.Equal(t, fault.Fenced, fault.Of(err), err)
	require.NotNil(t, c.read(t, "old"))
}

// Two workers clean up at the same time: rows that one holds the other skips, and a resumed workflow is not deleted.
func TestACleanUpSkipsWhatAnotherTransactionHolds(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	j := c.scanner(t)
	for i := range 4 {
		c.insert(t, c.pending(fmt.Sprint(i), uuid.New()).With("status", "CANCELLED").With("completed_at", i+1))
	}
	tx, err := c.owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `update dbos.workflow_status set status = 'ENQUEUED', completed_at = null where workflow_uuid = $1`, c.name("2"))
	require.NoError(t, err)
	require.Equal(t, 3, round(t, j, 2))
	require.NoError(t, tx.Commit(t.Context()))
	require.Zero(t, round(t, j, 2))
	require.Equal(t, "ENQUEUED", c.read(t, "2")["status"])
}

// The cost of a batch is the batch: not the history that is too young, and not what must stay, however old.
func TestTheCostOfACleanUpDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	c.pretendEverythingIsPending(t)
	c.addHistory(t)
	c.exec(t, `update dbos.workflow_status set completed_at = created_at where created_at <= 10000`)                                        // old
	c.exec(t, `update dbos.workflow_status set completed_at = floor(extract(epoch from now()) * 1000) where created_at > 10000`)            // young
	c.exec(t, `update dbos.workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED' where created_at <= 10000 and created_at % 2 = 0`) // must stay
	scanner := c.executor(t, "live")
	conn := c.db.As(t, scanner)
	for _, statistics := range []string{"misleading", "good"} {
		if statistics == "good" {
			c.exec(t, `analyze dbos.workflow_status; analyze dbos.operation_outputs; analyze dbos.workflow_input; analyze dbos.workflow_output;
				analyze workflow_coordination.takeover; analyze workflow_coordination.executor`)
		}
		for n := range 7 {
			c.requireFewReads(t, conn, statistics+": retire", `select workflow_coordination.retire_workflows($1, 86400000, 100, $2, 'done-x')`, scanner, 500*n)
		}
	}
}
