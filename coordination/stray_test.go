package coordination_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// claims are the claims of a database, noted with the time of each.
type claims struct{ *harness.Observer }

func noteClaims(t *testing.T, d *fixture.Database) claims {
	t.Helper()
	o := claims{harness.Watch(t, d)}
	o.Exec(t, `create table public.claim (workflow_id text, at timestamptz default clock_timestamp())`)
	o.Exec(t, `create function public.note_claim() returns trigger language plpgsql security definer as $$
		begin insert into public.claim (workflow_id) values (new.workflow_uuid); return null; end $$`)
	o.Exec(t, `create trigger zz_claim after update on dbos.workflow_status for each row
		when (old.status = 'ENQUEUED' and new.status = 'PENDING' and new.queue_name not like 'kesita-probe-%') execute function public.note_claim()`)
	return o
}

// requireInTime: each stray of the workflow was put back within a minute of its claim, in the pace of the tests (X2).
func (c claims) requireInTime(t *testing.T, workflow string) {
	t.Helper()
	minute := (2 * pace().Stray).Milliseconds()
	require.Equal(t, "0", c.Text(t, `select count(*) from (
		select takeover.happened_at - (select max(at) from public.claim where claim.workflow_id = takeover.workflow_id and at < takeover.happened_at) as took
		  from workflow_coordination.takeover where takeover.workflow_id = $1 and cause = 'stray') found where took > $2 * interval '1 ms'`, workflow, minute))
}

// strays is what happened to a workflow's claims, as "action/attempts, ...".
func (c claims) strays(t *testing.T, workflow string) string {
	t.Helper()
	return c.Text(t, `select coalesce(string_agg(action || '/' || attempts, ', ' order by takeover_id), '') from workflow_coordination.takeover
		where workflow_id = $1 and cause = 'stray'`, workflow)
}

func (c claims) attempts(t *testing.T, workflow string) string {
	t.Helper()
	return c.Text(t, `select recovery_attempts from dbos.workflow_status where workflow_uuid = $1`, workflow)
}

// X2: in one batch with good neighbours are a workflow of a name that nobody registered, and one that the SDK looks for
// under another name. Both are parked with one signal each, uncounted, and never tried again; the neighbours notice
// nothing, and every slot of the queue is free again.
func TestAnUnknownWorkflowIsParkedOnceAndItsNeighboursRun(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := noteClaims(t, d)
	opened := make(chan struct{})
	r := open(t, config(d))
	gated(opened, false)(r)
	bad := []string{"unknown", "misnamed"}
	harness.Submit(t, d, orders, "shop.new", "unknown")
	harness.Submit(t, d, orders, "shop.order", "misnamed")
	o.Exec(t, `update dbos.workflow_status set config_name = null where workflow_uuid = 'misnamed'`)
	for i := range 6 {
		harness.Submit(t, d, orders, "shop.order", fmt.Sprint(i))
	}
	require.NoError(t, r.Launch(t.Context()))
	harness.Await(t, "the good neighbours of the batch run", func() bool { return len(r.Host().Active()) == 2 })
	require.Equal(t, "4", o.Text(t, `select count(distinct workflow_id) from public.claim`), "one batch")
	harness.Await(t, "every slot is used", func() bool { return len(r.Host().Active()) == 4 })
	close(opened)
	for i := range 6 {
		o.AwaitStatus(t, "SUCCESS", fmt.Sprint(i))
		require.Equal(t, "1", o.attempts(t, fmt.Sprint(i)))
	}
	for _, id := range bad {
		require.Equal(t, "kesita-parked", o.Text(t, `select queue_name from dbos.workflow_status where workflow_uuid = $1`, id))
		require.Equal(t, "parked/0", o.strays(t, id))
		o.requireInTime(t, id)
		require.Equal(t, "1", o.Text(t, `select count(*) from public.claim where workflow_id = $1`, id))
	}
	require.Equal(t, 2, r.log.count(signal.Stray, signal.UnknownWorkflow))
	require.NoError(t, r.stop(t.Context()))
	require.Equal(t, 2, r.log.count(signal.Stray, signal.UnknownWorkflow), "never tried again")
}

// X2: the read after the claim fails, so no workflow of the batch starts. All of them go back uncounted and complete.
func TestAClaimWhoseReadFailedGoesBackUncounted(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := noteClaims(t, d)
	// A row that cannot be read, for workers alone: the probe and everybody's writes are not concerned.
	o.Exec(t, `create table public.unreadable (workflow_id text)`)
	o.Exec(t, `create function public.read(id text) returns boolean language plpgsql security definer as $$ begin
		if exists (select from public.unreadable where workflow_id = id) then raise exception 'cannot read' using errcode = 'XX001'; end if;
		return true; end $$`)
	o.Exec(t, `grant usage on schema public to public`)
	o.Exec(t, `alter table dbos.workflow_input enable row level security`)
	o.Exec(t, `create policy reading on dbos.workflow_input as restrictive for select using (public.read(workflow_uuid))`)
	o.Exec(t, `create policy writing on dbos.workflow_input for all using (true) with check (true)`)
	r := open(t, config(d))
	single(r)
	for _, id := range []string{"a", "b", "c"} {
		harness.Submit(t, d, orders, "shop.order", id)
	}
	o.Exec(t, `insert into public.unreadable values ('b')`)
	require.NoError(t, r.Launch(t.Context()))
	harness.Await(t, "the SDK cannot read what it claimed", func() bool { return r.log.count(signal.Workflow, signal.SDK) == 1 })
	require.Equal(t, "3", o.Text(t, `select count(*) from dbos.workflow_status where status = 'PENDING' and queue_name = 'orders'`))
	require.Empty(t, r.Host().Active())
	o.Exec(t, `delete from public.unreadable`)
	for _, id := range []string{"a", "b", "c"} {
		o.AwaitStatus(t, "SUCCESS", id)
		require.Equal(t, "1", o.attempts(t, id))
		require.Equal(t, "returned/0", o.strays(t, id))
		require.Equal(t, "1", o.Text(t, `select count(*) from shop.orders where id = $1`, id))
		o.requireInTime(t, id)
	}
	require.Equal(t, 3, r.log.count(signal.Stray, signal.NeverStarted))
	require.NoError(t, r.stop(t.Context()))
}

// X2: a lost outcome write leaves nobody in charge under a living executor. The process finds that by itself, and the
// workflow completes by replay: no step runs twice, the run counts, the slot is free.
func TestALostOutcomeIsFoundAndCompletedByReplay(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := noteClaims(t, d)
	lost := harness.Inject(t, d, harness.AtOutcome("a", "57014", 1))
	r := launch(t, config(d), single)
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitStatus(t, "SUCCESS", "a")
	require.NotEqual(t, "0", lost.Hits(t))
	require.Equal(t, "1", o.Steps(t, "a"))
	require.Equal(t, "returned/1", o.strays(t, "a"))
	require.Equal(t, "2", o.attempts(t, "a"))
	o.requireInTime(t, "a")
	require.Equal(t, 1, r.log.count(signal.Stray, signal.OutcomeLost))
	require.False(t, r.condemned())
	require.NoError(t, r.stop(t.Context()))
}

// P1, P2: an outcome that is lost each time - too large for the database, say - costs four runs and no fifth, and ends
// in the quarantine with its queue and deduplication ID remembered; the process goes on.
func TestAnOutcomeThatIsLostEachTimeEndsInTheQuarantine(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := noteClaims(t, d)
	harness.Inject(t, d, harness.AtOutcome("a", "54000", 0))
	c := config(d)
	c.Timing.Stray = c.Timing.Statement + time.Millisecond // four finds in a row: as soon as may be
	r := launch(t, c, single)
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitStatus(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", "a")
	require.Equal(t, "returned/1, returned/2, returned/3, quarantined/4", o.strays(t, "a"))
	require.Equal(t, "4", o.Text(t, `select count(*) from public.claim where workflow_id = 'a'`))
	require.Equal(t, "orders", o.Text(t, `select queue_name from workflow_coordination.quarantine where workflow_id = 'a'`))
	harness.Await(t, "the loss is signalled", func() bool { return r.log.count(signal.RecoveryExhausted, signal.AttemptsExhausted) == 1 })
	harness.Submit(t, d, orders, "shop.order", "b")
	o.AwaitStatus(t, "SUCCESS", "b")
	require.False(t, r.condemned())
	require.NoError(t, r.stop(t.Context()))
}
