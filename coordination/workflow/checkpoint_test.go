package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// refusals are errors that the SDK hands to the workflow after one try (dbos-sdk 10.1): limits, conflicts, the fence,
// permission, and codes that nobody classified.
func refusals() []string {
	return []string{"57014", "40001", "40P01", "55P03", "53300", "25P03", "57P05", "25006", "42501", "KF001", "KF002", "KF003", "KF004", "P0001", "XX000", "22P02"}
}

// interruptions are errors that the SDK itself waits out.
func interruptions() []string { return []string{"08006", harness.KillSession} }

// order is a workflow of two steps, the second with an effect. It makes a failure of its own of every error that it
// gets, as careless code does.
func order(b *bench) func(ctx workflow.Context, id string) (string, error) {
	return func(ctx workflow.Context, id string) (string, error) {
		if _, err := workflow.RunStep(ctx, "first", func(context.Context) (string, error) { return "ok", nil }); err != nil {
			return "", err
		}
		if _, err := workflow.RunStep(ctx, "second", b.effect(id)); err != nil {
			return "", errors.New("gave up")
		}
		return "ok", nil
	}
}

// dbos-sdk 10.1, 10.2: what the database says to a checkpoint is never a step's or a workflow's own failure. The
// process ends, the workflow stays pending, and a peer completes it with one effect.
func TestARefusedCheckpointEndsTheProcessAndIsNoFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", order(b))
	for _, code := range refusals() {
		harness.Inject(t, d, harness.AtCheckpoint(code, 1, code, 1))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", refusals()...)
	for _, code := range refusals() {
		b.awaitTrip(t, signal.CheckpointFailed, code)
		b.untouched(t, code, "1")
		require.Contains(t, b.host.Active(), code)
	}
	b.close()
	for _, code := range refusals() {
		b.untouched(t, code, "1")
	}
	completes(t, d, b, refusals(), "2")
}

// A refusal that stays is no failure either, however many workers it ends.
func TestACheckpointThatIsAlwaysRefusedIsNeverAFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	harness.Inject(t, d, harness.AtCheckpoint("a", 1, "57014", 0))
	for range 3 {
		b := set(t, d, fast())
		workflow.Register(b, "shop.order", order(b))
		b.launch(t)
		b.enqueue(t, "shop.order", "a")
		b.awaitTrip(t, signal.CheckpointFailed, "a")
		b.close()
		b.untouched(t, "a", "1")
		b.recover(t)
	}
}

// A connection that breaks under a checkpoint is the SDK's to wait out: nobody trips and the step runs once.
func TestABrokenConnectionUnderACheckpointHealsInPlace(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", order(b))
	for _, code := range interruptions() {
		harness.Inject(t, d, harness.AtCheckpoint(code, 1, code, 2))
		harness.Inject(t, d, harness.AtOutcome(code, code, 2))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", interruptions()...)
	for _, code := range interruptions() {
		b.observer.AwaitStatus(t, "SUCCESS", code)
		require.Empty(t, b.tripped(code), code)
		require.Equal(t, "1", b.runs(t, code), code)
	}
}

// The SDK gives a lost outcome write to nobody: the row must at least stay pending, not turn into a failure, and a peer
// completes it without running a step again. That a living executor keeps it is for the stray check to find (X2).
func TestALostOutcomeWriteLeavesTheWorkflowToAPeer(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.order", order(b))
	faults := map[string]*harness.Injected{}
	for _, code := range refusals() {
		faults[code] = harness.Inject(t, d, harness.AtOutcome(code, code, 1))
	}
	b.launch(t)
	b.enqueue(t, "shop.order", refusals()...)
	for _, code := range refusals() {
		harness.Await(t, code+" loses its outcome", func() bool { return faults[code].Hits(t) == "1" })
		harness.Await(t, code+" left", func() bool { _, runs := b.host.Active()[code]; return !runs })
		b.untouched(t, code, "2")
	}
	b.close()
	completes(t, d, b, refusals(), "1")
}

// A read of the journal fails like a write: here a lock holds it until the statement's own timeout.
func TestAReadOfTheJournalThatTimesOutIsNoFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	with := fast()
	with.Statement = 500 * time.Millisecond
	b := set(t, d, with)
	gate := make(chan struct{})
	workflow.Register(b, "shop.order", func(ctx workflow.Context, id string) (string, error) {
		<-gate
		return workflow.RunStep(ctx, "only", b.effect(id))
	})
	b.launch(t)
	b.enqueue(t, "shop.order", "a")
	harness.Await(t, "a runs", func() bool { return len(b.host.Active()) == 1 })
	tx, err := d.Connect(t, d.OwnerURL).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `lock table dbos.operation_outputs in access exclusive mode`)
	require.NoError(t, err)
	close(gate)
	b.awaitTrip(t, signal.CheckpointFailed, "a")
	require.NoError(t, tx.Rollback(t.Context()))
	b.untouched(t, "a", "0")
	require.Empty(t, b.runs(t, "a"))
}

// A durable wait is a checkpoint too.
func TestARefusedWakeUpTimeIsNoFailure(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.sleep", func(ctx workflow.Context, _ string) (string, error) {
		return "woke", workflow.Sleep(ctx, 1)
	})
	workflow.Register(b, "shop.raw", func(ctx workflow.Context, _ string) (string, error) {
		_, err := dbos.Sleep(ctx, 1) // not through the wrapper
		return "woke", err
	})
	harness.Inject(t, d, harness.AtCheckpoint("sleep", 0, "57014", 1))
	harness.Inject(t, d, harness.AtCheckpoint("raw", 0, "57014", 1))
	b.launch(t)
	b.enqueue(t, "shop.sleep", "sleep")
	b.enqueue(t, "shop.raw", "raw")
	for _, id := range []string{"sleep", "raw"} {
		b.awaitTrip(t, signal.CheckpointFailed, id)
		b.untouched(t, id, "0")
	}
}

// completes lets a peer finish what a closed bench left, and proves one effect and the given number of runs of it.
func completes(t *testing.T, d *fixture.Database, left *bench, ids []string, runs string) {
	t.Helper()
	peer := set(t, d, fast())
	workflow.Register(peer, "shop.order", order(peer))
	left.recover(t)
	peer.launch(t)
	for _, id := range ids {
		peer.observer.AwaitStatus(t, "SUCCESS", id)
		require.Equal(t, runs, peer.runs(t, id), id)
		require.NotEmpty(t, peer.observer.Order(t, "effect/"+id), id)
		require.Equal(t, "2", peer.observer.Steps(t, id), id)
		require.Empty(t, peer.tripped(id), id)
	}
}
