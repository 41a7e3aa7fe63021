package journal_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
)

const (
	tombstones = 20_000
	finished   = 20_000
)

// K10 keeps tombstones for ever and finished work is kept for long: neither may ever be read by a scan. Not with the
// statistics of a moment when nearly everything was pending, not with good ones; not by the first plans of a session
// and not by the generic ones that follow.
func TestTheCostOfAScanDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, fixture.Copy(t))
	c.pretendEverythingIsPending(t)
	c.addHistory(t)
	scanner := c.executor(t, "live")
	c.executors(t, "live", 5)
	conn := c.db.As(t, scanner)
	for _, statistics := range []string{"misleading", "good"} {
		if statistics == "good" {
			c.exec(t, `analyze dbos.workflow_status; analyze dbos.operation_outputs; analyze workflow_coordination.executor; analyze dbos.queues`)
		}
		for range 7 { // the sixth call of a session may switch to a generic plan
			lost := c.executor(t, "expired")
			journaltest.Backlog(t, c.owner, lost, fixture.Application, c.version, uuid.NewString(), 20)
			c.insert(t, c.pending(uuid.NewString(), lost).With("recovery_attempts", 2))
			c.probe(t, lost, "ENQUEUED")
			late := c.executor(t, "released")
			c.insert(t, c.pending(uuid.NewString(), late))
			c.requireFewReads(t, conn, statistics+": candidates", `select workflow_coordination.recovery_candidates($1, 100, '{}')`, scanner)
			c.requireFewReads(t, conn, statistics+": locked", `select workflow_coordination.locked_candidates($1)`, scanner)
			c.requireFewReads(t, conn, statistics+": recover", `select workflow_coordination.recover_executor($1, $2, 4, 100)`, scanner, lost)
			c.requireFewReads(t, conn, statistics+": recover", `select workflow_coordination.recover_executor($1, $2, 4, 100)`, scanner, late)
			c.requireFewReads(t, conn, statistics+": release suspect", `select workflow_coordination.release_suspect($1, 1)`, scanner)
			for _, call := range []string{"own_claims", "adopt_exhausted", "take_unsignalled", "take_unsettled"} {
				c.requireFewReads(t, conn, statistics+": "+call, `select workflow_coordination.`+call+`($1)`, scanner)
			}
			c.requireFewReads(t, conn, statistics+": remove probe", `select workflow_coordination.remove_probe($1)`, lost)
		}
	}
}

func (c *crowd) addHistory(t *testing.T) {
	t.Helper()
	c.exec(t, `insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login,
			lease_ms, transaction_ms, heartbeat_at, expires_at)
		select gen_random_uuid(), $1, $2, case when n % 2 = 0 then 'released' else 'revoked' end, $3, 75000, 20000, now(), now()
		  from generate_series(1, $4::integer) n`, fixture.Application, c.version, c.db.Worker.Name, tombstones)
	c.exec(t, `insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, application_name, application_version,
			queue_name, recovery_attempts, created_at)
		select 'done-' || n, 'SUCCESS', 'shop.order', gen_random_uuid()::text, $1, $2, 'orders', 1, n from generate_series(1, $3::integer) n`,
		fixture.Application, c.version, finished)
	c.exec(t, `insert into dbos.operation_outputs (workflow_uuid, function_id, function_name)
		select 'done-' || n, 0, 'reserve' from generate_series(1, $1::integer) n`, finished/2)
}

// pretendEverythingIsPending makes statistics of a mass recovery and keeps them.
func (c *crowd) pretendEverythingIsPending(t *testing.T) {
	t.Helper()
	for _, table := range []string{"dbos.workflow_status", "dbos.operation_outputs", "workflow_coordination.executor"} {
		c.exec(t, `alter table `+table+` set (autovacuum_enabled = off)`)
	}
	lost := c.executors(t, "expired", 50)
	for _, id := range lost {
		journaltest.Backlog(t, c.owner, id, fixture.Application, c.version, uuid.NewString(), 50)
	}
	c.exec(t, `analyze dbos.workflow_status; analyze workflow_coordination.executor`)
	c.exec(t, `delete from dbos.workflow_status`)
	c.exec(t, `update workflow_coordination.executor set state = 'revoked'`)
}

// requireFewReads runs a call and fails when it read more rows than unfinished work and live executors explain.
func (c *crowd) requireFewReads(t *testing.T, conn *pgx.Conn, what, sql string, args ...any) {
	t.Helper()
	const most = 4_000 // a clean-up of 500 looks costs four reads a row and more; all of history is 20 000 and up
	require.NoError(t, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
			return err
		}
		rows, err := tx.Query(t.Context(), `select schemaname || '.' || relname, coalesce(seq_tup_read, 0), coalesce(idx_tup_fetch, 0)
			from pg_stat_xact_user_tables where coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) > 0`)
		if err != nil {
			return err
		}
		var table string
		var bySequence, byIndex int
		_, err = pgx.ForEachRow(rows, []any{&table, &bySequence, &byIndex}, func() error {
			require.Less(t, bySequence, 100, "%s reads all of %s", what, table)
			require.Less(t, byIndex, most, "%s reads %s by an index", what, table)
			return nil
		})
		return err
	}))
}
