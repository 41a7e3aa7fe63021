package journal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

// generated is one queue with random limits and random contents.
type generated struct {
	*view
	columns map[string]any
}

// generate makes a queue. Rates have windows that no test outlives.
func generate(t testing.TB, random *rand.Rand, base *view) *generated {
	t.Helper()
	g := &generated{view: &view{}, columns: map[string]any{}}
	*g.view = *base
	g.queue = "queue-" + uuid.NewString()
	perhaps := func(column string, most int) {
		if random.IntN(3) == 0 {
			g.columns[column] = 1 + random.IntN(most)
		}
	}
	perhaps("concurrency", 6)
	perhaps("worker_concurrency", 4)
	perhaps("rate_limit_max", 6)
	g.columns["rate_limit_period_sec"], g.columns["polling_interval_sec"] = 3600, 0.2
	if random.IntN(2) == 0 {
		perhaps("partition_concurrency", 3)
		perhaps("partition_worker_concurrency", 3)
		perhaps("partition_rate_limit_max", 3)
		g.columns["partition_rate_limit_period_sec"] = 1800
		g.columns["partition_queue"] = random.IntN(2) == 0
	}
	g.addQueue(t, g.columns)
	for range random.IntN(14) {
		g.insert(t, g.row(random))
	}
	return g
}

// row is a workflow in any state, of anybody. None runs in the executor that looks: it would not know of it.
func (g *generated) row(random *rand.Rand) journaltest.Row {
	rows := rows{wait, wait, wait, wait, runPeer, runDead, rated, ratedLong, with(wait, "status", "DELAYED"), with(runPeer, "rate_limited", true)}
	row := rows[random.IntN(len(rows))](g.view).With("name", "oracle.block")
	for column, values := range map[string][]any{
		"application_version": {g.version, g.version, g.version, g.version, "v0", nil},
		"application_name":    {fixture.Application, fixture.Application, fixture.Application, fixture.Application, "kesita-other", nil},
		"queue_partition_key": {"a", "b", "c", nil},
		"priority":            {0, 1, 2},
	} {
		row = row.With(column, values[random.IntN(len(values))])
	}
	return row
}

// expected is what the observation says that the executor can claim in all, as long as nothing ends.
func expected(o journal.Observation) int64 {
	if o.Capacity == nil {
		return o.Backlog
	}
	return min(o.Backlog, *o.Capacity)
}

// D5, D12, the oracle: for random limits and contents, the SDK's own dequeue claims exactly what an observation said that
// it could; and when it claims no more, the observation says so too.
func TestTheSDKTakesWhatTheObservationSaw(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"AsTheLatestVersion": false, "AsAnEarlierVersion": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const queues = 60
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			base := newView(t, fixture.Copy(t))
			if later {
				base.exec(t, `insert into dbos.application_versions (version_id, version_name, version_timestamp, application_name)
					values ('later', 'later', 9000000000000, $1)`, fixture.Application)
			}
			all := make([]*generated, queues)
			want := map[string]int64{}
			names := []string{}
			for i := range all {
				all[i] = generate(t, random, base)
				want[all[i].queue] = expected(all[i].observe(t))
				names = append(names, all[i].queue)
			}
			passes := claimAll(t, base, names)
			for _, g := range all {
				g.requireClaimed(t, want[g.queue])
			}
			seen := passes.Load()
			require.Eventually(t, func() bool { return passes.Load() >= seen+3 }, patience, poll, "more passes of every queue")
			claimed := int64(0)
			for _, g := range all {
				g.requireClaimed(t, want[g.queue])
				require.False(t, g.observe(t).Claimable(), "%s", g)
				claimed += want[g.queue]
			}
			require.Positive(t, claimed)
		})
	}
}

// String is what a failure shows.
func (g *generated) String() string { return fmt.Sprint(g.queue, " ", g.columns) }

func (g *generated) requireClaimed(t *testing.T, want int64) {
	t.Helper()
	var got int64
	claimed := func() bool {
		got = one[int64](t, g.owner, `select count(*) from dbos.workflow_status where queue_name = $1 and status = 'PENDING' and executor_id = $2::uuid::text`, g.queue, g.own)
		return got >= want
	}
	require.Eventually(t, claimed, patience, poll, "%s: want %d", g, want)
	require.Equal(t, want, got, "%s", g)
}

// claimAll runs the SDK with these queues until the test ends; what it claims never ends. Each pass of the SDK's
// supervisor, one a second and each longer than a poll of every queue, is counted.
func claimAll(t *testing.T, v *view, queues []string) (passes *atomic.Int64) {
	t.Helper()
	passes = &atomic.Int64{}
	config, err := guard.Identity{ExecutorID: v.own, Timing: fixture.Timing().Scale(10)}.PoolConfig(v.db.WorkerURL, 20)
	require.NoError(t, err)
	config.ConnConfig.Tracer = supervisor{passes}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	sdk, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: fixture.Application, ApplicationVersion: v.version, ExecutorID: v.own.String(),
		SystemDBPool: pool, DatabaseSchema: journal.Schema, SkipMigrations: true,
	})
	require.NoError(t, err)
	dbos.RegisterWorkflow(sdk, func(ctx dbos.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, dbos.WithWorkflowName("oracle.block"))
	dbos.ListenQueues(sdk, queues...)
	require.NoError(t, dbos.Launch(sdk))
	t.Cleanup(func() { require.NoError(t, dbos.Shutdown(sdk, patience)) })
	return passes
}

// supervisor counts how often the SDK listed its queues.
type supervisor struct{ passes *atomic.Int64 }

func (s supervisor) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "polling_interval_sec") && strings.HasPrefix(strings.TrimSpace(q.SQL), "SELECT") {
		s.passes.Add(1)
	}
	return ctx
}

func (supervisor) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
