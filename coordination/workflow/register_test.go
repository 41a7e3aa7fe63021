package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// Workflows with the same Go types are different workflows, told apart by name.
func TestWorkflowsOfOneGoTypeDoNotClash(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	for _, name := range []string{"shop.one", "shop.two", "shop.three"} {
		workflow.Register(b, name, func(workflow.Context, string) (string, error) { return name, nil })
	}
	for _, name := range []string{"shop.one", "shop.two", "shop.three"} {
		require.True(t, b.host.Knows(name, name))
		require.False(t, b.host.Knows(name, ""), "the SDK would not find it")
	}
	require.False(t, b.host.Knows("shop.four", "shop.four"))
	require.Panics(t, func() {
		workflow.Register(b, "shop.one", func(workflow.Context, string) (string, error) { return "", nil })
	})
	b.launch(t)
	for _, name := range []string{"shop.one", "shop.two", "shop.three"} {
		b.enqueue(t, name, name+"/a")
		handle, err := retrieve(b, name+"/a")
		require.NoError(t, err)
		out, err := handle.GetResult()
		require.NoError(t, err)
		require.Equal(t, name, out)
	}
}

// The active set holds what runs here now, and nothing else.
func TestTheActiveSetHoldsWhatRunsHereNow(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	open := make(chan struct{})
	workflow.Register(b, "shop.wait", func(ctx workflow.Context, _ string) (string, error) {
		return workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
			select {
			case <-open:
				return "", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	})
	b.launch(t)
	require.Empty(t, b.host.Active())
	began := time.Now()
	b.enqueue(t, "shop.wait", "a", "b")
	harness.Await(t, "both run", func() bool { return len(b.host.Active()) == 2 })
	active := b.host.Active()
	require.Equal(t, []string{"a", "b"}, slices.Sorted(maps.Keys(active)))
	require.WithinRange(t, active["a"], began, time.Now())
	active["c"] = time.Now()
	require.Len(t, b.host.Active(), 2, "the set handed out is a copy")
	open <- struct{}{}
	harness.Await(t, "one left", func() bool { return len(b.host.Active()) == 1 })
	close(open)
	harness.Await(t, "both left", func() bool { return len(b.host.Active()) == 0 })
}

// K7: a child goes to a named queue, once, also when its parent is replayed or its insert fails at first.
func TestAChildIsEnqueuedOnceOnANamedQueue(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	open := make(chan struct{})
	register := func(b *bench) {
		workflow.Register(b, "shop.child", func(_ workflow.Context, in string) (string, error) { return in, nil })
		workflow.Register(b, "shop.parent", func(ctx workflow.Context, id string) (string, error) {
			for range 2 { // the same ID twice in one run too
				if err := workflow.Enqueue(ctx, "children", "shop.child", id+"/child", id); err != nil {
					return "", err
				}
			}
			return workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
				select {
				case <-open:
					return "", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			})
		})
	}
	first := set(t, d, fast())
	register(first)
	insert := harness.Inject(t, d, harness.Fault{
		Table: "dbos.workflow_status", On: "insert", Code: "57014", Times: 1, When: "new.workflow_uuid = 'a/child'",
	})
	first.launch(t)
	first.enqueue(t, "shop.parent", "a")
	first.observer.AwaitStatus(t, "ENQUEUED", "a/child")
	first.observer.Await(t, "2", `select count(*) from dbos.operation_outputs where workflow_uuid = 'a' and error is null`)
	require.Equal(t, "3", insert.Hits(t), "refused, inserted, and joined")
	require.Empty(t, first.tripped("a"))
	first.close()

	peer := set(t, d, fast())
	register(peer)
	first.recover(t)
	peer.launch(t)
	harness.Await(t, "the replay is past its children", func() bool { return len(peer.host.Active()) == 1 })
	close(open)
	peer.observer.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, "3", insert.Hits(t), "the replay enqueued nothing")
	row := `select queue_name || ' ' || application_version || ' ' || name || ' ' || recovery_attempts from dbos.workflow_status where workflow_uuid = 'a/child'`
	require.Equal(t, "children "+fixture.Version+" shop.child 0", peer.observer.Text(t, row))
}

// K7: no queue and the SDK's own unlimited one are refused, durably the same on every run.
func TestAChildNeedsANamedQueue(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.parent", func(ctx workflow.Context, queue string) (string, error) {
		return "", workflow.Enqueue(ctx, queue, "shop.child", "child", "")
	})
	b.launch(t)
	for _, to := range []string{"", journal.InternalQueue} {
		require.ErrorIs(t, workflow.CheckQueue(to), workflow.ErrQueue)
	}
	require.NoError(t, workflow.CheckQueue("orders"))
	b.enqueue(t, "shop.parent", journal.InternalQueue)
	b.observer.AwaitStatus(t, "ERROR", journal.InternalQueue)
	require.Empty(t, b.observer.Status(t, "child"))
}

// H1: a stop is no outcome, however a workflow takes it. The SDK has a gap: it records a plain return that comes before
// its own hook on the context ran. A crowd of hooks makes the gap wide.
func TestAStopIsNoOutcomeHoweverAWorkflowTakesIt(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	b := set(t, d, fast())
	workflow.Register(b, "shop.fails", func(ctx workflow.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", errors.New("gave up")
	})
	workflow.Register(b, "shop.ends", func(ctx workflow.Context, _ string) (string, error) {
		<-ctx.Done()
		return "fallback", nil
	})
	b.launch(t)
	const each, crowd = 10, 200_000
	for i := range each {
		b.enqueue(t, "shop.fails", fmt.Sprint("fails", i))
		b.enqueue(t, "shop.ends", fmt.Sprint("ends", i))
	}
	harness.Await(t, "all run", func() bool { return len(b.host.Active()) == 2*each })
	for range crowd {
		context.AfterFunc(b.sdk, func() {})
	}
	b.close()
	require.Equal(t, fmt.Sprint(2*each), b.observer.Text(t, `select count(*) from dbos.workflow_status where status = 'PENDING'`))
}
