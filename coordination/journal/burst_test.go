package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// burst is a crowd of replicas that serve one queue with a global limit when a dead worker's whole backlog comes back.
type burst struct {
	replicas, concurrency, workflows int
	// roundTrip is what the network adds.
	roundTrip time.Duration
	// lock is how long somebody else holds the first workflow in line, as an API's open transaction could.
	lock time.Duration
}

// measured is what a burst showed: how long it took, the longest time without a claim while work waited and nothing was
// locked from outside, the first claim after such a lock, and how many looks at the queue met a peer's.
type measured struct {
	drained, gap, afterLock time.Duration
	passes, contended       int64
}

const (
	burstPoll = time.Second
	// fewPolls is what "a few polling intervals" means here.
	fewPolls = 5
)

// measurements is the page that holds what was measured last: numbers of one machine, so it is no generated file.
const measurements = "../../docs/measurements.md"

// bursts are what is measured. With MEASURE=1 in the environment the test writes it down.
func bursts() []burst {
	return []burst{
		{replicas: 2, concurrency: 16, workflows: 400},
		{replicas: 4, concurrency: 16, workflows: 400},
		{replicas: 8, concurrency: 16, workflows: 400},
		{replicas: 8, concurrency: 16, workflows: 400, roundTrip: 10 * time.Millisecond},
		{replicas: 8, concurrency: 16, workflows: 400, lock: 3 * time.Second},
	}
}

// Recovery in a crowd: contention with its peers makes the SDK pause longer at each replica, up to two minutes; the queue
// as a whole must go on all the same. After a lock that nobody here takes, pauses are as long as the lock was.
func TestABurstOfRecoveredWorkIsClaimedWithoutGaps(t *testing.T) {
	t.Parallel()
	page := &strings.Builder{}
	for _, b := range bursts() {
		t.Run(fmt.Sprintf("%d replicas, %s, %s", b.replicas, b.roundTrip, b.lock), func(t *testing.T) {
			m := b.run(t)
			t.Logf("%+v", m)
			require.LessOrEqual(t, m.gap, fewPolls*burstPoll)
			require.LessOrEqual(t, m.afterLock, b.lock+fewPolls*burstPoll)
			fmt.Fprintf(page, "| %d | %s | %s | %d of %d | %s | %s | %s |\n", b.replicas, b.roundTrip, b.lock, m.contended, m.passes,
				m.gap.Round(10*time.Millisecond), m.afterLock.Round(10*time.Millisecond), m.drained.Round(100*time.Millisecond))
		})
	}
	if os.Getenv("MEASURE") != "" {
		write(t, page.String())
	}
}

// write puts the rows into the page's table.
func write(t *testing.T, rows string) {
	t.Helper()
	body, err := os.ReadFile(measurements)
	require.NoError(t, err)
	const begin, end = "<!-- burst -->\n", "<!-- end of burst -->"
	before, rest, found := strings.Cut(string(body), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	head := "| replicas | network adds | first row locked for | looks that contended | longest gap | first claim after the lock | all done in |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n"
	require.NoError(t, os.WriteFile(measurements, []byte(before+begin+head+rows+end+after), 0o644))
}

func (b burst) run(t *testing.T) (m measured) {
	t.Helper()
	v := newView(t, fixture.Copy(t))
	v.queue = "burst"
	v.addQueue(t, limit("concurrency", b.concurrency, "worker_concurrency", b.concurrency, "polling_interval_sec", burstPoll.Seconds()))
	v.exec(t, `create table public.claim (at timestamptz default clock_timestamp()); create table public.hold (like public.claim including defaults)`)
	v.exec(t, `create function public.note_claim() returns trigger language plpgsql security definer as $$
		begin insert into public.claim default values; return null; end $$`)
	v.exec(t, `create trigger zz_claim after update on dbos.workflow_status for each row
		when (old.status = 'ENQUEUED' and new.status = 'PENDING') execute function public.note_claim()`)
	for i := range b.workflows {
		v.insert(t, v.pending(fmt.Sprint("w", i), v.dead).With("queue_name", v.queue).With("name", "burst.work"))
	}
	network, through := harness.Between(t, v.db.WorkerURL)
	network.Delay(b.roundTrip / 2)
	looks := &contention{queue: v.queue}
	for range b.replicas {
		v.serve(t, through, looks)
	}
	require.Eventually(t, func() bool { return looks.passes.Load() >= int64(2*b.replicas) }, patience, poll, "everybody looks at the queue")
	began := one[time.Time](t, v.owner, `select clock_timestamp()`)
	require.Equal(t, b.workflows, v.recover(t, v.scanner(t), v.dead).Reenqueued)
	if b.lock > 0 {
		m.afterLock = v.lockHead(t, b.lock)
	}
	require.Eventually(t, func() bool {
		return one[int](t, v.owner, `select count(*) from dbos.workflow_status where queue_name = 'burst' and status = 'SUCCESS'`) == b.workflows
	}, 4*patience, poll)
	m.passes, m.contended = looks.passes.Load(), looks.contended.Load()
	m.drained = one[time.Duration](t, v.owner, `select max(at) - $1 from public.claim`, began)
	m.gap = one[time.Duration](t, v.owner, `select max(at - before) from (select at, lag(at, 1, $1) over (order by at) as before from public.claim) c
		where not exists (select from public.hold where hold.at between before and c.at)`, began)
	return m
}

// lockHead holds the first workflow in line for that long and returns how long after that the next claim came.
func (v *view) lockHead(t *testing.T, long time.Duration) time.Duration {
	t.Helper()
	tx, err := v.owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from dbos.workflow_status where queue_name = $1 and status = 'ENQUEUED' order by priority, created_at limit 1 for update`, v.queue)
	require.NoError(t, err)
	held := time.NewTimer(long)
	<-held.C
	require.NoError(t, tx.Rollback(context.Background()))
	v.exec(t, `insert into public.hold default values`)
	claimed := func() bool {
		return one[bool](t, v.owner, `select exists (select from public.claim c, public.hold h where c.at > h.at)`)
	}
	require.Eventually(t, claimed, patience, poll)
	return one[time.Duration](t, v.owner, `select min(c.at - h.at) from public.claim c, public.hold h where c.at > h.at`)
}

// serve runs the SDK as one more executor until the test ends. Its workflows are short.
func (v *view) serve(t *testing.T, url string, looks *contention) {
	t.Helper()
	id := v.executor(t, "live")
	config, err := guard.Identity{ExecutorID: id, Timing: fixture.Timing().Scale(10)}.PoolConfig(url, 20)
	require.NoError(t, err)
	config.ConnConfig.Tracer = looks
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	sdk, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: fixture.Application, ApplicationVersion: v.version, ExecutorID: id.String(),
		SystemDBPool: pool, DatabaseSchema: journal.Schema, SkipMigrations: true,
	})
	require.NoError(t, err)
	dbos.RegisterWorkflow(sdk, func(ctx dbos.Context, _ string) (string, error) {
		return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "done", nil })
	}, dbos.WithWorkflowName("burst.work"))
	dbos.ListenQueues(sdk, v.queue)
	require.NoError(t, dbos.Launch(sdk))
	t.Cleanup(func() { require.NoError(t, dbos.Shutdown(sdk, patience)) })
}

// contention counts the looks at one queue, and those that met a peer's.
type contention struct {
	queue             string
	passes, contended atomic.Int64
}

// TraceQueryStart implements pgx.QueryTracer: each look at a queue with a global limit counts what is pending in it.
func (c *contention) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if len(q.Args) > 1 && q.Args[0] == c.queue && strings.Contains(q.SQL, "COUNT(*)") {
		c.passes.Add(1)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *contention) TraceQueryEnd(_ context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	var pg *pgconn.PgError
	if errors.As(q.Err, &pg) && (pg.Code == "55P03" || pg.Code == "40001" || pg.Code == "40P01") {
		c.contended.Add(1)
	}
}
