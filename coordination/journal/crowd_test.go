package journal_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
)

const (
	patience = 30 * time.Second
	poll     = 2 * time.Millisecond
)

// crowd is a set of executors of one compatibility version, alone in its version: tests share a database and
// never see each other's executors. Workflow IDs are made unique with name.
type crowd struct {
	db      *fixture.Database
	version string
	owner   *pgxpool.Pool
}

func newCrowd(t testing.TB, db *fixture.Database) *crowd {
	t.Helper()
	owner, err := pgxpool.New(context.Background(), db.OwnerURL)
	require.NoError(t, err)
	t.Cleanup(owner.Close)
	return &crowd{db: db, version: "kesita-shop-" + uuid.NewString(), owner: owner}
}

// name makes a workflow ID of this crowd's own.
func (c *crowd) name(id string) string { return id + "-" + c.version }

// executor adds an executor in one of the states live, expired, released and revoked.
func (c *crowd) executor(t require.TestingT, state string) uuid.UUID {
	return c.executors(t, state, 1)[0]
}

func (c *crowd) executors(t require.TestingT, state string, count int) []uuid.UUID {
	ids := make([]uuid.UUID, count)
	for i := range ids {
		ids[i] = uuid.New()
	}
	expires := -time.Second
	if state == "live" {
		expires = time.Hour
	}
	column := map[string]string{"live": "active", "expired": "active", "released": "released", "revoked": "revoked"}[state]
	_, err := c.owner.Exec(context.Background(), `insert into workflow_coordination.executor
		(executor_id, application_name, application_version, state, worker_login, lease_ms, transaction_ms, heartbeat_at, expires_at)
		select unnest($1::uuid[]), $2, $3, $4, $5, 3600000, 2000, clock_timestamp(), clock_timestamp() + $6 * interval '1 millisecond'`,
		ids, fixture.Application, c.version, column, c.db.Worker.Name, expires.Milliseconds())
	require.NoError(t, err)
	return ids
}

func (c *crowd) expire(t require.TestingT, executor uuid.UUID) {
	c.exec(t, `update workflow_coordination.executor set expires_at = clock_timestamp() - interval '1 ms' where executor_id = $1`, executor)
}

// pool carries the identity of id, as a worker's control pool does.
func (c *crowd) pool(t testing.TB, id uuid.UUID) *pgxpool.Pool {
	t.Helper()
	config, err := guard.Identity{ExecutorID: id, Timing: timing.Production()}.PoolConfig(c.db.WorkerURL, 6)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["lock_timeout"] = fixture.Timing().RowLock.String()
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// patient is a live executor that waits for a workflow row as long as its statement may last.
func (c *crowd) patient(t testing.TB) (*journal.Journal, uuid.UUID) {
	t.Helper()
	id := c.executor(t, "live")
	config, err := guard.Identity{ExecutorID: id, Timing: timing.Production().Scale(2)}.PoolConfig(c.db.WorkerURL, 6)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return journal.Open(pool, id), id
}

// scanner is a live executor's view of the journal.
func (c *crowd) scanner(t testing.TB) *journal.Journal {
	t.Helper()
	id := c.executor(t, "live")
	return journal.Open(c.pool(t, id), id)
}

func (c *crowd) pending(id string, owner uuid.UUID) journaltest.Row {
	return journaltest.Pending(c.name(id), owner, fixture.Application, c.version)
}

func (c *crowd) insert(t require.TestingT, rows ...journaltest.Row) {
	journaltest.Insert(t, c.owner, rows...)
}

func (c *crowd) read(t require.TestingT, id string) journaltest.Row {
	return journaltest.Read(t, c.owner, c.name(id))
}

func (c *crowd) exec(t require.TestingT, sql string, args ...any) {
	_, err := c.owner.Exec(context.Background(), sql, args...)
	require.NoError(t, err)
}

func (c *crowd) state(t require.TestingT, executor uuid.UUID) string {
	return one[string](t, c.owner, `select state from workflow_coordination.executor where executor_id = $1`, executor)
}

// candidates are the executors that a scan would list.
func (c *crowd) candidates(t require.TestingT, j *journal.Journal) []uuid.UUID {
	list, err := j.Candidates(context.Background(), 100, nil)
	require.NoError(t, err)
	ids := []uuid.UUID{}
	for _, candidate := range list {
		ids = append(ids, candidate.ExecutorID)
	}
	return ids
}

func (c *crowd) recover(t require.TestingT, j *journal.Journal, lost uuid.UUID) journal.Recovery {
	r, err := j.Recover(context.Background(), lost)
	require.NoError(t, err)
	require.True(t, r.Recovered(), "outcome %s", r.Outcome)
	return r
}

// takeover is one row of the takeover history.
type takeover struct {
	Lost                  uuid.UUID
	Cause, Action         string
	Queue                 *string
	Attempts, Checkpoints int
}

func (c *crowd) takeovers(t require.TestingT, id string) []takeover {
	rows, err := c.owner.Query(context.Background(), `select lost_executor, cause, action, queue_name, attempts, checkpoints
		from workflow_coordination.takeover where workflow_id = $1 order by takeover_id`, c.name(id))
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[takeover])
	require.NoError(t, err)
	return list
}

// awaitBlocked returns when a session of the executor waits for a lock of another session: the test then knows that
// it stands exactly there. It returns the session's process ID.
func (c *crowd) awaitBlocked(t testing.TB, executor uuid.UUID) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := c.owner.QueryRow(context.Background(), `select pid from pg_stat_activity where datname = current_database()
			and application_name = 'kesita:' || $1::text and cardinality(pg_blocking_pids(pid)) > 0 limit 1`, executor).Scan(&pid)
		return err == nil
	}, patience, poll)
	return pid
}

// one reads one value.
func one[V any](t require.TestingT, db journaltest.Connection, sql string, args ...any) (value V) {
	require.NoError(t, db.QueryRow(context.Background(), sql, args...).Scan(&value))
	return value
}
