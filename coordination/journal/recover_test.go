package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
)

func TestRecovery(t *testing.T) {
	t.Parallel()
	db := fixture.New(t)

	// T4: nobody listens to a queue without a name.
	t.Run("DirectWorkflowsAndChildrenGoToTheInternalQueue", func(t *testing.T) {
		t.Parallel()
		c := newCrowd(t, db)
		lost := c.executor(t, "expired")
		c.insert(t,
			c.pending("direct-null", lost).With("queue_name", nil),
			c.pending("direct-empty", lost).With("queue_name", ""),
			c.pending("child", lost).With("queue_name", nil).With("parent_workflow_id", "direct-null"),
			c.pending("queued", lost))
		r := c.recover(t, c.scanner(t), lost)
		require.Equal(t, journal.Recovery{Outcome: "recovered", Cause: "expired", Reenqueued: 4, Quarantined: []string{}}, r)
		for _, id := range []string{"direct-null", "direct-empty", "child"} {
			row := c.read(t, id)
			require.Equal(t, "ENQUEUED", row["status"])
			require.Equal(t, journal.InternalQueue, row["queue_name"])
		}
		require.Equal(t, "orders", c.read(t, "queued")["queue_name"])
		require.Equal(t, "revoked", c.state(t, lost))
	})
}
