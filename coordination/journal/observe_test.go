package journal_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

// sight is one queue, what is in it, and what an observation must say of it.
type sight struct {
	queue    map[string]any
	rows     []func(v *view) journaltest.Row
	backlog  int64
	capacity any // nil: nothing limits it
}

// view is one executor that looks at one queue of its own.
type view struct {
	*crowd
	queue           string
	own, peer, dead uuid.UUID
	journal         *journal.Journal
}

func newView(t testing.TB, db *fixture.Database) *view {
	t.Helper()
	v := &view{crowd: newCrowd(t, db), queue: "queue-" + uuid.NewString()}
	v.own, v.peer, v.dead = v.executor(t, "live"), v.executor(t, "live"), v.executor(t, "expired")
	v.journal = journal.Open(v.pool(t, v.own), v.own)
	return v
}

// addQueue adds the view's queue; limits that are missing are null.
func (v *view) addQueue(t require.TestingT, columns map[string]any) {
	full := map[string]any{"polling_interval_sec": 1, "partition_queue": false}
	maps.Copy(full, columns)
	v.exec(t, `insert into dbos.queues (queue_id, name, application_name, concurrency, worker_concurrency, rate_limit_max, rate_limit_period_sec,
			partition_concurrency, partition_worker_concurrency, partition_rate_limit_max, partition_rate_limit_period_sec, partition_queue, polling_interval_sec)
		select $1, $1, $2, q.concurrency, q.worker_concurrency, q.rate_limit_max, q.rate_limit_period_sec,
			q.partition_concurrency, q.partition_worker_concurrency, q.partition_rate_limit_max, q.partition_rate_limit_period_sec, q.partition_queue, q.polling_interval_sec
		  from jsonb_populate_record(null::dbos.queues, $3) q`, v.queue, fixture.Application, full)
}

func (v *view) observe(t require.TestingT) journal.Observation {
	list, err := v.journal.Observe(context.Background(), []string{v.queue}, time.Minute)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// waiting is a workflow in the queue that every limit would let through.
func (v *view) waiting() journaltest.Row {
	return v.pending(uuid.NewString(), uuid.New()).With("queue_name", v.queue).With("status", "ENQUEUED").
		With("executor_id", nil).With("started_at_epoch_ms", nil).With("recovery_attempts", 0)
}

func (v *view) running(owner uuid.UUID) journaltest.Row {
	return v.waiting().With("status", "PENDING").With("executor_id", owner.String()).
		With("started_at_epoch_ms", time.Now().UnixMilli()).With("recovery_attempts", 1)
}

// started is a workflow that ended, and that the rate limit let through that long ago.
func (v *view) started(ago time.Duration) journaltest.Row {
	return v.running(v.peer).With("status", "SUCCESS").With("rate_limited", true).With("started_at_epoch_ms", time.Now().Add(-ago).UnixMilli())
}

// The parts that sights are made of.
func wait(v *view) journaltest.Row      { return v.waiting() }
func runOwn(v *view) journaltest.Row    { return v.running(v.own) }
func runPeer(v *view) journaltest.Row   { return v.running(v.peer) }
func runDead(v *view) journaltest.Row   { return v.running(v.dead) }
func rated(v *view) journaltest.Row     { return v.started(30 * time.Second) }
func ratedLong(v *view) journaltest.Row { return v.started(90 * time.Second) }

func with(row func(*view) journaltest.Row, column string, value any) func(*view) journaltest.Row {
	return func(v *view) journaltest.Row { return row(v).With(column, value) }
}

func in(part string, row func(*view) journaltest.Row) func(*view) journaltest.Row {
	return with(row, "queue_partition_key", part)
}

type rows = []func(*view) journaltest.Row

func some(row func(*view) journaltest.Row, n int, more ...func(*view) journaltest.Row) rows {
	list := rows{}
	for range n {
		list = append(list, row)
	}
	return append(list, more...)
}

func limit(pairs ...any) map[string]any {
	columns := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		columns[pairs[i].(string)] = pairs[i+1]
	}
	return columns
}

// What an observation says of queues without partitions (D5, D12).
func sights() map[string]sight {
	rate := limit("rate_limit_max", 3, "rate_limit_period_sec", 60)
	both := limit("concurrency", 4, "worker_concurrency", 4)
	return map[string]sight{
		"WithoutLimitsEverythingIsClaimable":       {limit(), some(wait, 3, runPeer, runOwn), 3, nil},
		"TheGlobalLimitCountsEverybody":            {limit("concurrency", 4), some(wait, 9, runOwn, runPeer), 9, 2},
		"ADeadOwnersRowsTakeCapacity":              {limit("concurrency", 2), some(wait, 9, runDead, runDead), 9, 0},
		"MoreRunningThanAllowedIsNoCapacity":       {limit("concurrency", 1), some(wait, 9, runPeer, runPeer), 9, 0},
		"TheWorkersLimitCountsTheExecutorAlone":    {limit("worker_concurrency", 2), some(wait, 9, runOwn, runPeer, runPeer, runDead), 9, 1},
		"AFullExecutorHasNoCapacityThoughAPeerHas": {limit("worker_concurrency", 1), some(wait, 9, runOwn), 9, 0},
		"TheTighterLimitDecides":                   {both, some(wait, 9, runOwn, runPeer, runPeer), 9, 1},
		"ARunningWorkflowOfAnotherVersionTakesCapacity": {both, some(wait, 9,
			with(runPeer, "application_version", "v0"), with(runPeer, "application_version", "v0")), 9, 2},
		"AnotherApplicationsTakesNone":    {both, some(wait, 9, with(runPeer, "application_name", "kesita-other")), 9, 4},
		"AnUnownedOneTakesCapacity":       {both, some(wait, 9, with(runPeer, "application_name", nil)), 9, 3},
		"TheRateCountsStartsOfItsPeriod":  {rate, some(wait, 9, rated, rated, ratedLong), 9, 1},
		"TheRateIsUsedUpByRunningOnesToo": {rate, some(wait, 9, rated, rated, with(runPeer, "rate_limited", true)), 9, 0},
		"TheRateForgetsARecoveredClaim": {rate, some(wait, 9, rated, rated,
			with(with(rated, "status", "ENQUEUED"), "started_at_epoch_ms", time.Now().UnixMilli()-1000)), 10, 1},
		"StartsWithoutARateDoNotCount":  {rate, some(wait, 9, with(rated, "rate_limited", false)), 9, 3},
		"DelayedWorkIsNoBacklog":        {limit(), some(with(wait, "status", "DELAYED"), 3), 0, nil},
		"FinishedWorkIsNoBacklog":       {limit(), some(with(wait, "status", "SUCCESS"), 3), 0, nil},
		"AnotherVersionIsNoBacklog":     {limit(), some(with(wait, "application_version", "v0"), 3, wait), 1, nil},
		"AnotherApplicationIsNoBacklog": {limit(), some(with(wait, "application_name", "kesita-other"), 3, wait), 1, nil},
		"UnownedWorkIsBacklog":          {limit(), some(with(wait, "application_name", nil), 3), 3, nil},
		"AnotherQueueIsNoBacklog":       {limit(), some(with(wait, "queue_name", "elsewhere"), 3), 0, nil},
		"APartitionKeyMeansNothing":     {limit("concurrency", 4), some(in("a", wait), 2, wait, in("b", runPeer)), 3, 3},
		"AnEmptyQueueIsEmpty":           {both, nil, 0, 4},
	}
}

// What an observation says of partitioned queues (D12).
func partitions() map[string]sight {
	legacy := func(pairs ...any) map[string]any { return limit(append(pairs, "partition_queue", true)...) }
	return map[string]sight{
		"APartitionIsFullWhenItsLimitIs": {
			limit("partition_concurrency", 2),
			some(in("a", wait), 5, in("a", runPeer), in("a", runDead), in("b", wait)), 1, nil,
		},
		"EachPartitionGivesWhatItHasRoomFor": {
			limit("partition_concurrency", 2),
			some(in("a", wait), 5, in("a", runPeer), in("b", wait), in("c", runPeer)), 2, nil,
		},
		"APartitionsWorkerLimitCountsTheExecutorAlone": {
			limit("partition_worker_concurrency", 2),
			some(in("a", wait), 5, in("a", runOwn), in("a", runPeer), in("a", runPeer)), 1, nil,
		},
		"APartitionsRateIsItsOwn": {
			limit("partition_rate_limit_max", 2, "partition_rate_limit_period_sec", 60),
			some(in("a", wait), 5, in("a", rated), in("a", rated), in("b", wait), in("b", rated), in("b", ratedLong)), 1, nil,
		},
		"QueueWideLimitsHoldBesides": {
			limit("partition_concurrency", 2, "concurrency", 3),
			some(in("a", wait), 5, in("b", wait), in("c", runPeer), in("d", runPeer)), 3, 1,
		},
		"TheQueueWideRateCountsAllPartitions": {
			limit("partition_concurrency", 9, "rate_limit_max", 3, "rate_limit_period_sec", 60),
			some(in("a", wait), 5, in("b", rated), in("c", rated), rated), 5, 0,
		},
		"TwoPeriodsAreTwoWindows": {
			limit("partition_rate_limit_max", 3, "partition_rate_limit_period_sec", 60, "rate_limit_max", 4, "rate_limit_period_sec", 120),
			some(in("a", wait), 5, in("a", rated), in("a", ratedLong), in("b", ratedLong)), 2, 1,
		},
		"EitherPeriodMayBeTheShorter": {
			limit("partition_rate_limit_max", 3, "partition_rate_limit_period_sec", 120, "rate_limit_max", 4, "rate_limit_period_sec", 60),
			some(in("a", wait), 5, in("a", rated), in("a", ratedLong), in("b", ratedLong)), 1, 3,
		},
		"WorkWithoutAKeyIsNeverTaken":      {legacy(), some(wait, 5), 0, nil},
		"ButTakesUpTheQueueWideCapacity":   {limit("partition_concurrency", 9, "concurrency", 3), some(in("a", wait), 5, runPeer), 5, 2},
		"LegacyLimitsAreThoseOfAPartition": {legacy("concurrency", 2), some(in("a", wait), 5, in("a", runPeer), in("b", wait), in("b", runPeer), in("b", runPeer)), 1, nil},
		"LegacyWorkerLimitsToo":            {legacy("worker_concurrency", 2), some(in("a", wait), 5, in("a", runOwn), in("a", runPeer)), 1, nil},
		"LegacyRatesToo": {
			legacy("rate_limit_max", 2, "rate_limit_period_sec", 60),
			some(in("a", wait), 5, in("a", rated), in("b", rated), in("b", rated), in("b", wait)), 1, nil,
		},
		"AFlaggedQueueWithPartitionLimitsKeepsItsQueueWideOnes": {
			legacy("concurrency", 2, "partition_concurrency", 9),
			some(in("a", wait), 5, in("b", runPeer)), 5, 1,
		},
	}
}

func TestAnObservationSeesWhatTheDequeueWouldTake(t *testing.T) {
	t.Parallel()
	db := fixture.Copy(t)
	all := sights()
	maps.Copy(all, partitions())
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newView(t, db)
			v.addQueue(t, s.queue)
			for _, row := range s.rows {
				v.insert(t, row(v))
			}
			o := v.observe(t)
			require.Equal(t, s.backlog, o.Backlog)
			if s.capacity == nil {
				require.Nil(t, o.Capacity)
			} else {
				require.NotNil(t, o.Capacity)
				require.EqualValues(t, s.capacity, *o.Capacity)
			}
			require.Equal(t, s.backlog > 0 && s.capacity != 0, o.Claimable())
		})
	}
}

// D5: the budget follows the queue's own interval; the SDK takes a second for no interval.
func TestAnObservationNamesThePollingInterval(t *testing.T) {
	t.Parallel()
	db := fixture.Copy(t)
	for seconds, poll := range map[float64]time.Duration{0.1: 100 * time.Millisecond, 1: time.Second, 240: 240 * time.Second, 0: time.Second} {
		v := newView(t, db)
		v.addQueue(t, limit("polling_interval_sec", seconds))
		require.Equal(t, poll, v.observe(t).Poll)
	}
}

// D12: the newest claim of the own version counts, by whomever, also when the workflow is over by now.
func TestAnObservationSeesTheNewestClaimOfItsVersion(t *testing.T) {
	t.Parallel()
	v := newView(t, fixture.Copy(t))
	v.addQueue(t, limit())
	require.Zero(t, v.observe(t).LastClaim)
	at := time.Now().UnixMilli()
	for i, row := range []journaltest.Row{
		v.running(v.peer).With("started_at_epoch_ms", at-600_000),
		v.running(v.peer).With("status", "SUCCESS").With("started_at_epoch_ms", at-30_000),
		v.running(v.own).With("status", "ERROR").With("started_at_epoch_ms", at-20_000),
	} {
		v.insert(t, row)
		require.EqualValues(t, row["started_at_epoch_ms"], v.observe(t).LastClaim, "claim %d", i)
	}
	newest := v.observe(t).LastClaim
	v.insert(t, v.running(v.peer).With("application_version", "v0").With("started_at_epoch_ms", at),
		v.running(v.peer).With("queue_name", "elsewhere").With("started_at_epoch_ms", at),
		v.running(v.peer).With("application_name", "kesita-other").With("started_at_epoch_ms", at))
	require.Equal(t, newest, v.observe(t).LastClaim)
	v.exec(t, `delete from dbos.workflow_status where queue_name = $1 and status in ('SUCCESS', 'ERROR')`, v.queue)
	v.insert(t, v.running(v.peer).With("status", "SUCCESS").With("started_at_epoch_ms", at-120_000))
	require.Equal(t, at-600_000, v.observe(t).LastClaim, "one that is over is looked for as far back as asked")
}

// D12: the internal queue is in no table, a diagnostic queue is nobody's business, and a queue that lost its row is one
// that only a fresh worker brings back.
func TestAnObservationCoversExactlyTheNamedQueues(t *testing.T) {
	t.Parallel()
	v := newView(t, fixture.Copy(t))
	v.addQueue(t, limit("concurrency", 1))
	v.insert(t, v.waiting(), v.waiting().With("queue_name", journal.InternalQueue), v.running(v.dead).With("queue_name", journal.InternalQueue))
	v.insert(t, v.waiting().With("queue_name", "lost"))
	v.probe(t, v.own, "ENQUEUED")
	list, err := v.journal.Observe(t.Context(), []string{v.queue, journal.InternalQueue, "lost", v.queue}, time.Minute)
	require.NoError(t, err)
	named := map[string]journal.Observation{}
	for _, o := range list {
		named[o.Queue] = o
	}
	require.Len(t, list, 3)
	require.EqualValues(t, 1, named[journal.InternalQueue].Backlog)
	require.Nil(t, named[journal.InternalQueue].Capacity)
	require.Equal(t, time.Second, named[journal.InternalQueue].Poll)
	require.True(t, named["lost"].Claimable())
	require.True(t, named[v.queue].Claimable())
}

// D12: work without a version is for the latest version alone, and when none is known for everybody.
func TestWorkWithoutAVersionIsBacklogOfTheLatestVersionAlone(t *testing.T) {
	t.Parallel()
	v := newView(t, fixture.Copy(t))
	v.addQueue(t, limit())
	v.insert(t, v.waiting().With("application_version", nil))
	register := func(version, application string, at int) {
		v.exec(t, `insert into dbos.application_versions (version_id, version_name, version_timestamp, application_name)
			values (gen_random_uuid()::text, $1, $2, nullif($3, ''))`, version, at, application)
	}
	require.EqualValues(t, 1, v.observe(t).Backlog, "no version is known")
	register(v.version, fixture.Application, 10)
	register("other", "kesita-other", 30)
	require.EqualValues(t, 1, v.observe(t).Backlog, "it is the latest of its application")
	register("unowned", "", 20)
	require.Zero(t, v.observe(t).Backlog, "a later one is nobody's and may become ours")
	v.exec(t, `update dbos.application_versions set version_timestamp = 40 where version_name = $1`, v.version)
	require.EqualValues(t, 1, v.observe(t).Backlog)
}

func TestAnExecutorThatNobodyRegisteredObservesNothing(t *testing.T) {
	t.Parallel()
	v := newView(t, fixture.Copy(t))
	stranger := uuid.New()
	_, err := journal.Open(v.pool(t, stranger), stranger).Observe(t.Context(), []string{v.queue}, time.Minute)
	require.Equal(t, fault.Fenced, fault.Of(err))
}
