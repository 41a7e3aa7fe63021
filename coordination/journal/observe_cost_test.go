package journal_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

const (
	crowdedQueues, partitionsEach = 20, 50
	activeRows, finishedRows      = 10_000, 200_000
	// recentRows of the finished ones started within the time that an observation looks back, a hundred a second; ratedRows
	// within a rate window of ten minutes.
	recentRows, ratedRows = 1_500, 2_000
)

// P9 of the promises on cost (D12): what an observation reads depends on active and recent rows alone, whatever the
// statistics say, and it takes no more than 50 ms.
func TestTheCostOfAnObservationDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	const most = 50 * time.Millisecond
	v := newView(t, fixture.Copy(t))
	v.exec(t, `alter table dbos.workflow_status set (autovacuum_enabled = off)`)
	queues := make([]string, crowdedQueues)
	for i := range queues {
		v.queue = fmt.Sprint("crowded-", i)
		queues[i] = v.queue
		v.addQueue(t, limit("concurrency", 400, "partition_concurrency", 4, "partition_rate_limit_max", 900, "partition_rate_limit_period_sec", 600))
	}
	v.fill(t, activeRows, `case when n % 3 = 0 then 'PENDING' else 'ENQUEUED' end`, `case when n % 3 = 0 then $5 - n end`)
	v.exec(t, `analyze dbos.workflow_status`) // as if everything were active
	conn := v.db.As(t, v.own)
	before := v.reads(t, conn, queues)
	v.fill(t, finishedRows-ratedRows-recentRows, `'SUCCESS'`, `$5 - 3600000 - n`)
	v.fill(t, ratedRows, `'SUCCESS'`, `$5 - 20000 - n * 55`)
	v.fill(t, recentRows, `'SUCCESS'`, `$5 - n * 10`)
	for _, statistics := range []string{"misleading", "good"} {
		if statistics == "good" {
			v.exec(t, `vacuum analyze dbos.workflow_status`)
		}
		took := []time.Duration{}
		for range 8 { // the sixth call of a session may switch to a generic plan
			require.LessOrEqual(t, v.reads(t, conn, queues), before+recentRows+ratedRows, statistics)
			took = append(took, v.time(t, conn, queues))
		}
		slices.Sort(took)
		t.Logf("%s statistics: an observation of %d queues with %d partitions each, %d active and %d finished workflows: best %s, median %s, worst %s; it reads %d rows",
			statistics, crowdedQueues, partitionsEach, activeRows, finishedRows, took[0], took[len(took)/2], took[len(took)-1], v.reads(t, conn, queues))
		require.Less(t, took[len(took)/2], most)
	}
}

// fill adds workflows to the crowded queues and their partitions in turn. status and started are SQL over n.
func (v *view) fill(t *testing.T, count int, status, started string) {
	t.Helper()
	v.exec(t, `insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, application_name, application_version, queue_name,
			queue_partition_key, recovery_attempts, created_at, started_at_epoch_ms, rate_limited)
		select gen_random_uuid()::text, `+status+`, 'shop.order', gen_random_uuid()::text, $1, $2, 'crowded-' || n % $3::integer,
			(n / $3::integer) % $4::integer, 1, $5::bigint - n, `+started+`, coalesce(`+started+` between $5 - 590000 and $5 - 20000, false) from generate_series(1, $6::integer) n`,
		fixture.Application, v.version, crowdedQueues, partitionsEach, time.Now().UnixMilli(), count)
}

// reads is how many rows of the journal one observation fetches.
func (v *view) reads(t *testing.T, conn *pgx.Conn, queues []string) (rows int) {
	t.Helper()
	_, err := conn.Exec(t.Context(), `select pg_stat_force_next_flush()`) // what comes below counts from the last flush
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `select workflow_coordination.observe_queues($1, $2, 15000)`, v.own, queues); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), `select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
			where schemaname = 'dbos' and relname = 'workflow_status'`).Scan(&rows)
	}))
	return rows
}

// time is how long the database computes for one observation, and where the system does not tell, how long it takes.
func (v *view) time(t *testing.T, conn *pgx.Conn, queues []string) time.Duration {
	t.Helper()
	before, told := computed(conn)
	began := time.Now()
	_, err := conn.Exec(t.Context(), `select workflow_coordination.observe_queues($1, $2, 15000)`, v.own, queues)
	took := time.Since(began)
	require.NoError(t, err)
	if after, _ := computed(conn); told {
		return after - before
	}
	return took
}

// computed is how long the session's process had a processor so far: on a busy machine the clock tells more of the
// others.
func computed(conn *pgx.Conn) (onCPU time.Duration, told bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", conn.PgConn().PID()))
	if err != nil {
		return 0, false
	}
	_, err = fmt.Sscan(string(text), &onCPU)
	return onCPU, err == nil
}
