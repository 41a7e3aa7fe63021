package journal_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

// T3, P1, P2, K3: for any mix of rows, what recovery did is exactly what expected says, column by column, and an ended
// executor is listed exactly when one of its rows can be moved.
func everyOtherColumnIsPreserved(t *testing.T, c *crowd) {
	scanner, peer := c.scanner(t), c.executor(t, "live")
	rapid.Check(t, func(rt *rapid.T) {
		cause := rapid.SampledFrom([]string{"expired", "revoked", "released"}).Draw(rt, "cause")
		lost := c.executor(rt, cause)
		cases := map[string]planted{}
		for range rapid.IntRange(1, 12).Draw(rt, "rows") {
			p := c.plant(rt, lost, peer)
			cases[p.id] = p
		}
		movable := 0
		for _, p := range cases {
			if p.movable(c, lost) {
				movable++
			}
		}
		if cause == "expired" || movable > 0 {
			require.Contains(rt, c.candidates(rt, scanner), lost)
		} else {
			require.NotContains(rt, c.candidates(rt, scanner), lost)
		}
		before := time.Now().Add(-time.Minute).UnixMilli()
		r := c.recover(rt, scanner, lost)
		require.Equal(rt, cause, r.Cause)
		require.Equal(rt, movable, r.Reenqueued+r.Held+len(r.Quarantined))
		for id, p := range cases {
			p.check(rt, c, lost, cause, journaltest.Read(rt, c.owner, id), before)
		}
	})
}

// planted is a row as it was before recovery.
type planted struct {
	id      string
	row     journaltest.Row
	refunds int
}

func (c *crowd) plant(rt *rapid.T, lost, peer uuid.UUID) planted {
	id := uuid.NewString()
	text := func(name string) any {
		return rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.StringMatching(`[a-z]{0,6}`), func(s string) any { return s })).Draw(rt, name)
	}
	number := func(name string) any {
		return rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Int64Range(0, 1<<40), func(n int64) any { return n })).Draw(rt, name)
	}
	pick := func(name string, values ...any) any { return rapid.SampledFrom(values).Draw(rt, name) }
	queue, dedup := pick("queue", nil, "", "orders", "slow"), any(nil)
	if queue != nil && queue != "" && rapid.Bool().Draw(rt, "deduplicated") {
		dedup = id
	}
	own, ghost := lost.String(), uuid.NewString()
	row := journaltest.Row{
		"workflow_uuid": id,
		"status": pick("status", "PENDING", "PENDING", "PENDING", "PENDING", "PENDING", "ENQUEUED", "DELAYED", "SUCCESS", "ERROR",
			"CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"),
		"executor_id":         pick("owner", own, own, own, own, own, own, peer.String(), ghost, "local", "", nil),
		"application_version": pick("version", c.version, c.version, c.version, c.version, "kesita-shop-v0", nil),
		"application_name":    pick("application", fixture.Application, fixture.Application, fixture.Application, fixture.Application, "kesita-other", nil),
		"recovery_attempts":   pick("attempts", 0, 1, 2, 3, 4, 5, nil),
		"queue_name":          queue, "deduplication_id": dedup,
		"name": text("name"), "authenticated_user": text("user"), "assumed_role": text("role"), "authenticated_roles": text("roles"),
		"request": text("request"), "output": text("output"), "error": text("error"), "inputs": text("inputs"),
		"application_id": text("application id"), "class_name": text("class"), "config_name": text("config"),
		"queue_partition_key": text("partition"), "forked_from": text("forked from"), "owner_xid": text("xid"),
		"parent_workflow_id": text("parent"), "serialization": text("serialization"), "schedule_name": text("schedule"),
		"workflow_timeout_ms": number("timeout"), "workflow_deadline_epoch_ms": number("deadline"), "started_at_epoch_ms": number("started"),
		"delay_until_epoch_ms": number("delay"), "debounce_deadline_epoch_ms": number("debounce"),
		"created_at": rapid.Int64Range(0, 1<<40).Draw(rt, "created"), "priority": rapid.IntRange(-9, 9).Draw(rt, "priority"),
		"attributes":      pick("attributes", nil, map[string]any{}, map[string]any{"a": []any{1.5, "x", nil}}),
		"was_forked_from": rapid.Bool().Draw(rt, "was forked"), "rate_limited": rapid.Bool().Draw(rt, "rate limited"),
		"is_debounced": rapid.Bool().Draw(rt, "debounced"),
	}
	p := planted{id: id, refunds: rapid.SampledFrom([]int{0, 0, 1, 95, 98, 99}).Draw(rt, "refunds")}
	journaltest.Insert(rt, c.owner, row)
	if p.refunds > 0 {
		c.exec(rt, `insert into workflow_coordination.claim_refund (workflow_id, refunds) values ($1, $2)`, id, p.refunds)
	}
	p.row = journaltest.Read(rt, c.owner, id)
	return p
}

func (p planted) movable(c *crowd, lost uuid.UUID) bool {
	return p.row["status"] == "PENDING" && p.row["executor_id"] == lost.String() &&
		p.row["application_version"] == c.version && p.row["application_name"] == fixture.Application
}

// check compares the row and everything that recovery notes beside it with the rules, written down a second time.
func (p planted) check(rt *rapid.T, c *crowd, lost uuid.UUID, cause string, got journaltest.Row, before int64) {
	refunds := one[int](rt, c.owner, `select coalesce(sum(refunds), 0) from workflow_coordination.claim_refund where workflow_id = $1`, p.id)
	takeovers := one[int](rt, c.owner, `select count(*) from workflow_coordination.takeover where workflow_id = $1 and lost_executor = $2`, p.id, lost)
	marked := one[int](rt, c.owner, `select count(*) from workflow_coordination.quarantine where workflow_id = $1`, p.id)
	if !p.movable(c, lost) {
		require.Equal(rt, p.row, got)
		require.Equal(rt, []int{p.refunds, 0, 0}, []int{refunds, takeovers, marked})
		return
	}
	attempts, _ := p.row["recovery_attempts"].(float64)
	claims, refund := int(attempts)+p.refunds, 0
	if cause == "released" && attempts > 0 {
		refund = 1
	}
	if attempts >= 2 && cause != "released" && attempts < journal.MaxAttempts && claims < journal.ClaimCeiling {
		// X3, K8: lost with two workers or more; it stays as it is until it is its turn.
		require.Equal(rt, p.row, got)
		require.Equal(rt, []int{p.refunds, 1, 0}, []int{refunds, takeovers, marked})
		return
	}
	want := maps.Clone(p.row)
	want["started_at_epoch_ms"], want["recovery_attempts"], want["status"] = nil, attempts-float64(refund), "ENQUEUED"
	quarantine := attempts-float64(refund) >= journal.MaxAttempts || claims >= journal.ClaimCeiling
	switch {
	case quarantine:
		want["status"], want["queue_name"], want["deduplication_id"] = "MAX_RECOVERY_ATTEMPTS_EXCEEDED", nil, nil
		require.Greater(rt, got["completed_at"], float64(before))
		want["completed_at"] = got["completed_at"]
	case p.row["queue_name"] == nil || p.row["queue_name"] == "":
		want["queue_name"] = journal.InternalQueue
	}
	require.Greater(rt, got["updated_at"], float64(before))
	want["updated_at"] = got["updated_at"]
	require.Equal(rt, want, got)
	require.Equal(rt, []int{p.refunds + refund, 1}, []int{refunds, takeovers})
	require.Equal(rt, quarantine, marked == 1, fmt.Sprint(marked))
}
