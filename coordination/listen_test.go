package coordination_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// D4, C2: a replica serves its business queues, its own private queue and the SDK's internal one, and nothing that is a
// peer's alone.
func TestAReplicaServesItsOwnQueuesAndNothingOfItsPeers(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	o.Exec(t, `create table public.claim (queue text, executor text)`)
	o.Exec(t, `create function public.note_claim() returns trigger language plpgsql security definer as $$
		begin insert into public.claim values (new.queue_name, new.executor_id); return null; end $$`)
	o.Exec(t, `create trigger zz_claim after update on dbos.workflow_status for each row
		when (old.status = 'ENQUEUED' and new.status = 'PENDING') execute function public.note_claim()`)
	first := launch(t, config(d), single)
	second := open(t, config(d))
	single(second)
	require.NoError(t, second.AddQueue(coordination.Queue{Name: "extras", Concurrency: 4}))
	require.NoError(t, second.Launch(t.Context()))

	for i := range 6 {
		harness.Submit(t, d, "extras", "shop.order", fmt.Sprint("extra", i))
		harness.Submit(t, d, orders, "shop.order", fmt.Sprint("order", i))
	}
	harness.Submit(t, d, "nobody", "shop.order", "nobody")
	// What recovery moves from a direct workflow to the internal queue is anybody's (T4).
	harness.Submit(t, d, "later-internal", "shop.order", "direct")
	o.Exec(t, `update dbos.workflow_status set queue_name = $1 where workflow_uuid = 'direct'`, journal.InternalQueue)
	for i := range 6 {
		o.AwaitStatus(t, "SUCCESS", fmt.Sprint("extra", i))
		o.AwaitStatus(t, "SUCCESS", fmt.Sprint("order", i))
	}
	o.AwaitStatus(t, "SUCCESS", "direct")
	for _, r := range []*replica{first, second} {
		harness.Await(t, "two probes of each came back", func() bool {
			return o.Text(t, `select count(*) >= 2 from public.claim where queue = $1`, "kesita-probe-"+r.id()) == "true"
		})
	}
	require.Equal(t, "0", o.Text(t, `select count(*) from public.claim where queue like 'kesita-probe-%' and queue <> 'kesita-probe-' || executor`))
	require.Equal(t, "0", o.Text(t, `select count(*) from public.claim where queue = 'extras' and executor <> $1`, second.id()))
	require.Equal(t, "1", o.Text(t, `select count(*) from public.claim where queue = $1`, journal.InternalQueue))
	require.Equal(t, "ENQUEUED", o.Status(t, "nobody"))
	require.NoError(t, first.stop(t.Context()))
	require.NoError(t, second.stop(t.Context()))
}

// P5, D4: two replicas together run as many workflows of a queue as its concurrency says, and while all its places are
// taken, probes still come back: a busy worker is no stalled one.
func TestMoreReplicasDoNotMultiplyAQueuesConcurrency(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	opened := make(chan struct{})
	first, second := launch(t, config(d), gated(opened, false)), launch(t, config(d), gated(opened, false))
	for i := range 9 {
		harness.Submit(t, d, orders, "shop.order", fmt.Sprint(i))
	}
	running := func() int { return len(first.Host().Active()) + len(second.Host().Active()) }
	harness.Await(t, "the queue is full", func() bool { return running() == 4 })
	awaitProbes(t, o, first, second)
	require.Equal(t, 4, running())
	o.Exec(t, `create table public.most (n int); insert into public.most values (0)`)
	o.Exec(t, `create function public.note_most() returns trigger language plpgsql security definer as $$ begin
		update public.most set n = greatest(n, (select count(*) from dbos.workflow_status where status = 'PENDING' and queue_name = 'orders')); return null; end $$`)
	o.Exec(t, `create trigger zz_most after update on dbos.workflow_status for each statement execute function public.note_most()`)
	close(opened)
	for i := range 9 {
		o.AwaitStatus(t, "SUCCESS", fmt.Sprint(i))
	}
	require.Equal(t, "4", o.Text(t, `select n from public.most`))
	require.NoError(t, first.stop(t.Context()))
	require.NoError(t, second.stop(t.Context()))
}

// awaitProbes waits until each replica read two results of its private queue and removed them, from now on: the second
// of them was sent, claimed and completed since.
func awaitProbes(t *testing.T, o *harness.Observer, replicas ...*replica) {
	t.Helper()
	o.Exec(t, `create table public.probe (queue text)`)
	o.Exec(t, `create function public.note_probe() returns trigger language plpgsql security definer as $$
		begin insert into public.probe values (old.queue_name); return null; end $$`)
	o.Exec(t, `create trigger zz_probe after delete on dbos.workflow_status for each row
		when (old.status = 'SUCCESS' and old.queue_name like 'kesita-probe-%') execute function public.note_probe()`)
	for _, r := range replicas {
		o.Await(t, "true", `select count(*) >= 2 from public.probe where queue = $1`, "kesita-probe-"+r.id())
		require.False(t, r.condemned())
	}
}

// K7: the SDK's own queue is no business queue, and a queue has a limit.
func TestAQueueNeedsANameOfItsOwnAndALimit(t *testing.T) {
	t.Parallel()
	r := open(t, config(fixture.Copy(t)))
	for _, q := range []coordination.Queue{{Name: "", Concurrency: 1}, {Name: journal.InternalQueue, Concurrency: 1}, {Name: "q"}, {Name: "q", Concurrency: -1}} {
		require.Error(t, r.AddQueue(q), q)
	}
	require.Equal(t, r.Host(), workflow.Registrar(r).Host())
	require.NoError(t, r.stop(t.Context()))
}
