package journal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg"
)

// T2, K6: a recovery stands in its middle (the revocation and some rows are done, one row is waited for) when the
// server is killed. After the restart nothing of it is there, and the next scanner does all of it.
func TestADatabaseRestartInTheMiddleOfARecoveryLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	server, err := localpg.Start(t.Context(), localpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	c := newCrowd(t, fixture.NewOn(t, server))
	scanner, id := c.patient(t)
	lost := c.executor(t, "expired")
	c.insert(t, c.pending("a", lost), c.pending("poison", lost).With("recovery_attempts", 4), c.pending("b", lost), c.pending("c", lost))
	c.probe(t, lost, "SUCCESS")
	c.lock(t, "b")
	before := c.read(t, "poison")
	failed := make(chan error, 1)
	go func() {
		_, err := scanner.Recover(context.Background(), lost)
		failed <- err
	}()
	c.awaitBlocked(t, id)

	require.NoError(t, server.Stop(t.Context(), localpg.Immediate))
	require.Equal(t, fault.Outage, fault.Of(<-failed))
	require.NoError(t, server.StartAgain(t.Context()))

	c.owner.Reset()
	require.Equal(t, "active", c.state(t, lost))
	require.Equal(t, before, c.read(t, "poison"))
	require.Equal(t, "PENDING", c.read(t, "a")["status"])
	require.Zero(t, one[int](t, c.owner, `select count(*) from workflow_coordination.takeover`))
	require.Zero(t, one[int](t, c.owner, `select count(*) from workflow_coordination.quarantine`))
	require.True(t, c.queueExists(t, "kesita-probe-"+lost.String()))
	r := c.recover(t, c.scanner(t), lost)
	require.Equal(t, 3, r.Reenqueued)
	require.Len(t, r.Quarantined, 1)
	require.Equal(t, 1, r.ProbesRemoved)
}
