package explain_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/explain"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

// place is a database with the sessions that stage situations in it. Each case has a version of its own.
type place struct {
	*fixture.Database
	owner  *pgx.Conn
	reader *pgxpool.Pool
}

func newPlace(t *testing.T) place {
	t.Helper()
	db := fixture.Copy(t)
	reader, err := pgxpool.New(context.Background(), db.ReaderURL)
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	return place{db, db.Connect(t, db.OwnerURL), reader}
}

func (p place) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := p.owner.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// scene is one situation: everything in it belongs to one version and one queue.
type scene struct {
	place
	version, queue, id string
}

func (p place) scene(name string) scene {
	return scene{p, "kesita-shop-" + uuid.NewString(), "orders-" + name, name}
}

func (s scene) executor(t *testing.T, state string, ago time.Duration) uuid.UUID {
	t.Helper()
	id := uuid.New()
	column, expires := state, -ago
	switch state {
	case "live":
		column, expires = "active", time.Hour
	case "expired":
		column = "active"
	}
	s.exec(t, `insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login,
			lease_ms, transaction_ms, heartbeat_at, expires_at, revoked_at, released_at)
		select $1, $2, $3, $4, 'w', 75000, 20000, now(), at, case $4 when 'revoked' then at end, case $4 when 'released' then at end
		  from (select clock_timestamp() + $5 * interval '1 ms' as at) x`,
		id, fixture.Application, s.version, column, expires.Milliseconds())
	return id
}

// slow gives the scene's executors the longest lease: a busy machine must not make a takeover overdue.
func (s scene) slow(t *testing.T) {
	t.Helper()
	s.exec(t, `update workflow_coordination.executor set lease_ms = 3600000 where application_version = $1`, s.version)
}

func (s scene) register(t *testing.T, columns string, values ...any) {
	t.Helper()
	list := ""
	for i := range values {
		list += fmt.Sprintf(", $%d", i+2)
	}
	if columns != "" {
		columns = ", " + columns
	}
	s.exec(t, `insert into dbos.queues (queue_id, name, polling_interval_sec, priority_enabled, partition_queue`+columns+`)
		values (gen_random_uuid()::text, $1, 1, false, `+fmt.Sprint(columns != "" && columns[2] == 'p')+list+`)`, append([]any{s.queue}, values...)...)
}

func milli(ago time.Duration) int64 { return time.Now().Add(-ago).UnixMilli() }

func (s scene) row(owner any, status string) journaltest.Row {
	r := journaltest.Pending(s.id, uuid.Nil, fixture.Application, s.version).With("queue_name", s.queue).With("status", status).
		With("created_at", milli(0)).With("updated_at", milli(0)).With("started_at_epoch_ms", milli(0)).With("executor_id", nil)
	if owner != nil {
		r = r.With("executor_id", fmt.Sprint(owner))
	}
	if status == "ENQUEUED" {
		r = r.With("started_at_epoch_ms", nil).With("recovery_attempts", 0)
	}
	return r
}

func (s scene) insert(t *testing.T, rows ...journaltest.Row) {
	t.Helper()
	journaltest.Insert(t, s.owner, rows...)
}

func (s scene) explain(t *testing.T) explain.Explanation {
	t.Helper()
	e, err := explain.Workflow(t.Context(), s.reader, s.id)
	require.NoError(t, err)
	return e
}

// staged is a situation and what must be said about it.
type staged struct {
	name    string
	stage   func(t *testing.T, s scene)
	cause   explain.Cause
	why     string        // part of it
	command string        // whole, "OWNER" stands for the last executor; empty: none
	until   time.Duration // from now, roughly; 0: not known
}

func claimedCases() []staged {
	return []staged{
		{"running", func(t *testing.T, s scene) { s.insert(t, s.row(s.executor(t, "live", 0), "PENDING")) }, explain.Running, "its owner is alive", "", 0},
		{"running-too-long", func(t *testing.T, s scene) {
			s.insert(t, s.row(s.executor(t, "live", 0), "PENDING").With("started_at_epoch_ms", milli(time.Hour)).With("created_at", milli(time.Hour)))
		}, explain.Running, "no step ended for longer than a step may take", "kesita executors revoke OWNER --force", 0},
		{"running-with-progress", func(t *testing.T, s scene) {
			s.insert(t, s.row(s.executor(t, "live", 0), "PENDING").With("started_at_epoch_ms", milli(time.Hour)).With("created_at", milli(time.Hour)))
			s.exec(t, `insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, completed_at_epoch_ms) values ($1, 0, 'x', $2)`, s.id, milli(time.Minute))
		}, explain.Running, "its owner is alive", "", 0},
		{"owner-unknown", func(t *testing.T, s scene) { s.insert(t, s.row(uuid.New(), "PENDING")) }, explain.OwnerNotRegistered, "no executor of this database", "kesita executors revoke OWNER --force", 0},
		{"owner-no-executor", func(t *testing.T, s scene) { s.insert(t, s.row("local", "PENDING")) }, explain.OwnerNotRegistered, "no executor of this database", "", 0},
		{"owner-of-another-version", func(t *testing.T, s scene) {
			other := s.scene("other")
			s.insert(t, s.row(other.executor(t, "live", 0), "PENDING"))
		}, explain.OwnerNotRegistered, "its owner is registered for kesita-shop ", "", 0},
		{"takeover-due", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.insert(t, s.row(s.executor(t, "expired", time.Second), "PENDING").With("started_at_epoch_ms", milli(time.Hour)))
			s.slow(t)
		}, explain.TakeoverDue, "a peer takes it over; living peers: 1", "", 288 * time.Second},
		{"takeover-overdue", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.insert(t, s.row(s.executor(t, "expired", time.Minute), "PENDING").With("started_at_epoch_ms", milli(time.Hour)))
		}, explain.TakeoverDue, "this is overdue", "kesita executors revoke OWNER", -54 * time.Second},
		{"late-claim", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.insert(t, s.row(s.executor(t, "revoked", time.Hour), "PENDING"))
			s.slow(t)
		}, explain.TakeoverDue, "a peer takes it over", "", 288 * time.Second},
		{"no-peer", func(t *testing.T, s scene) { s.insert(t, s.row(s.executor(t, "expired", time.Second), "PENDING")) }, explain.VersionNotRunning, "nobody is left to take it over", "", 0},
		{"held", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			lost := s.executor(t, "revoked", time.Minute)
			first, second := s.row(lost, "PENDING").With("workflow_uuid", "held-first"), s.row(nil, "ENQUEUED").With("workflow_uuid", "held-on-probation")
			s.insert(t, s.row(lost, "PENDING").With("recovery_attempts", 3), first, second)
			s.exec(t, `insert into workflow_coordination.suspect (workflow_id, application_name, application_version, losses, released_at)
				values ($1, $2, $3, 3, null), ('held-first', $2, $3, 2, null), ('held-on-probation', $2, $3, 2, clock_timestamp())`, s.id, fixture.Application, s.version)
		}, explain.HeldSuspect, "it lost 3 workers, and such workflows are released one at a time; 1 go before it; on probation now: held-on-probation", "kesita quarantine grant held", 5 * time.Minute},
	}
}

func waitingCases() []staged {
	full := func(t *testing.T, s scene, state string, held bool) {
		s.executor(t, "live", 0)
		s.register(t, "concurrency", 1)
		holder := s.row(s.executor(t, state, time.Second), "PENDING").With("workflow_uuid", s.id+"-holder")
		s.insert(t, holder, s.row(nil, "ENQUEUED"))
		if held {
			s.exec(t, `insert into workflow_coordination.suspect (workflow_id, application_name, application_version, losses) values ($1, $2, $3, 2)`,
				s.id+"-holder", fixture.Application, s.version)
		}
	}
	return []staged{
		{"due", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.register(t, "concurrency", 2)
			s.insert(t, s.row(nil, "ENQUEUED"), s.row(nil, "ENQUEUED").With("workflow_uuid", "due-before").With("priority", -1))
		}, explain.Due, "has room; 1 go before it", "", time.Second},
		{"due-internal", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.insert(t, s.row(nil, "ENQUEUED").With("queue_name", "_dbos_internal_queue"))
		}, explain.Due, "queue _dbos_internal_queue has room", "", time.Second},
		{"capacity", func(t *testing.T, s scene) { full(t, s, "live", false) }, explain.WaitingForCapacity, "runs 1 of 1: 1 by ", "", 0},
		{"capacity-dead", func(t *testing.T, s scene) { full(t, s, "expired", false) }, explain.WaitingForCapacity, "(expired)", "", 0},
		{"capacity-held", func(t *testing.T, s scene) { full(t, s, "revoked", true) }, explain.WaitingForCapacity, "(revoked), 1 of them held back", "", 0},
		{"capacity-of-workers", func(t *testing.T, s scene) {
			s.register(t, "worker_concurrency", 1)
			s.insert(t, s.row(s.executor(t, "live", 0), "PENDING").With("workflow_uuid", "worker-holder"), s.row(nil, "ENQUEUED"))
			s.exec(t, `update workflow_coordination.executor set state = 'released' where application_version <> $1`, s.version) // the limit counts all that live
		}, explain.WaitingForCapacity, "the living workers of queue orders-capacity-of-workers runs 1 of 1", "", 0},
		{"capacity-of-partition", func(t *testing.T, s scene) {
			s.register(t, "partition_concurrency", 1)
			s.insert(t, s.row(s.executor(t, "live", 0), "PENDING").With("workflow_uuid", "part-holder").With("queue_partition_key", "a"),
				s.row(nil, "ENQUEUED").With("queue_partition_key", "a"))
		}, explain.WaitingForCapacity, "partition a of queue orders-capacity-of-partition runs 1 of 1", "", 0},
		{"rate", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.register(t, "rate_limit_max, rate_limit_period_sec", 1, 60)
			s.insert(t, s.row(uuid.New(), "SUCCESS").With("workflow_uuid", "rate-started").With("rate_limited", true).With("started_at_epoch_ms", milli(20*time.Second)), s.row(nil, "ENQUEUED"))
		}, explain.RateLimited, "started 1 of 1 in its period", "", 40 * time.Second},
	}
}

func unservedCases() []staged {
	return []staged{
		{"delayed", func(t *testing.T, s scene) {
			s.insert(t, s.row(nil, "ENQUEUED").With("status", "DELAYED").With("delay_until_epoch_ms", milli(-time.Hour)))
		}, explain.Delayed, "submitted for later", "", time.Hour},
		{"version", func(t *testing.T, s scene) { s.insert(t, s.row(nil, "ENQUEUED")) }, explain.VersionNotRunning, "no living worker of application kesita-shop, version kesita-shop-", "", 0},
		{"application", func(t *testing.T, s scene) {
			s.insert(t, s.row(nil, "ENQUEUED").With("application_name", "kesita-other"))
		}, explain.VersionNotRunning, "this database belongs to kesita-shop", "", 0},
		{"queue", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.insert(t, s.row(nil, "ENQUEUED"))
		}, explain.QueueNotRegistered, "queue orders-queue is not registered", "", 0},
		{"nobody-polls", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.register(t, "")
			s.insert(t, s.row(nil, "ENQUEUED").With("updated_at", milli(5*time.Minute)))
		}, explain.QueueNotServed, "has room and workers are alive (1), but nobody claims", "", 0},
		{"no-partition", func(t *testing.T, s scene) {
			s.executor(t, "live", 0)
			s.register(t, "partition_concurrency", 1)
			s.insert(t, s.row(nil, "ENQUEUED"))
		}, explain.QueueNotServed, "names no partition", "", 0},
		{"stray", func(t *testing.T, s scene) {
			live := s.executor(t, "live", 0)
			s.register(t, "")
			s.insert(t, s.row(nil, "ENQUEUED"))
			for range 2 {
				s.exec(t, `insert into workflow_coordination.takeover (workflow_id, lost_executor, scanner_executor, cause, action, attempts, checkpoints) values ($1, $2, $2, 'stray', 'returned', 0, 0)`, s.id, live)
			}
		}, explain.Stray, "did not run it and put it back; that happened 2 times in a row", "", 0},
		{"parked", func(t *testing.T, s scene) {
			s.insert(t, s.row(nil, "ENQUEUED").With("queue_name", "kesita-parked").With("name", "shop.unheard"))
			s.exec(t, `insert into workflow_coordination.parked (workflow_id, workflow_name, queue_name, parked_by) values ($1, 'shop.unheard', 'orders', gen_random_uuid())`, s.id)
		}, explain.Parked, `no worker knew the name "shop.unheard"; it was taken out of queue orders`, "kesita quarantine unpark parked", 0},
	}
}

func endedCases() []staged {
	quarantine := func(columns, values string) func(t *testing.T, s scene) {
		return func(t *testing.T, s scene) {
			s.insert(t, s.row(uuid.New(), "MAX_RECOVERY_ATTEMPTS_EXCEEDED").With("queue_name", nil).With("recovery_attempts", 4))
			if columns != "" {
				s.exec(t, `insert into workflow_coordination.quarantine (workflow_id, queue_name, attempts, reason, lost_executor, `+columns+`)
					values ($1, 'orders', 4, 'attempts_exhausted', gen_random_uuid(), `+values+`)`, s.id)
			}
		}
	}
	return []staged{
		{"quarantined", quarantine("settled_at", "now()"), explain.Quarantined, "it lost 4 workers, the last one it was allowed; its business state was settled as failed", "kesita quarantine retry quarantined --yes", 0},
		{"unsettled", quarantine("settle_failures", "3"), explain.Quarantined, "settling its business state failed 3 times", "kesita quarantine retry unsettled --yes", 0},
		{"not-settled", quarantine("settle_failures", "0"), explain.Quarantined, "is not settled yet", "kesita quarantine retry not-settled --yes", 0},
		{"given up", quarantine("", ""), explain.Quarantined, "no scan has taken notice", "kesita quarantine retry 'given up' --yes", 0},
		{"cancelled", func(t *testing.T, s scene) { s.insert(t, s.row(uuid.New(), "CANCELLED")) }, explain.Cancelled, "cancelled", "", 0},
		{"succeeded", func(t *testing.T, s scene) { s.insert(t, s.row(uuid.New(), "SUCCESS")) }, explain.Finished, "it succeeded", "", 0},
		{"failed", func(t *testing.T, s scene) { s.insert(t, s.row(uuid.New(), "ERROR")) }, explain.Finished, "it failed", "", 0},
		{"missing", func(*testing.T, scene) {}, explain.NotFound, "no such workflow", "", 0},
	}
}

// X4, O4: every cause of the closed list is staged in a real database, and the answer names it and what would help.
func TestEveryCauseIsNamedWithWhatWouldHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	seen := map[explain.Cause]bool{explain.OwnerFrozen: true} // a test of its own
	for _, list := range [][]staged{claimedCases(), waitingCases(), unservedCases(), endedCases()} {
		for _, c := range list {
			seen[c.cause] = true
			t.Run(c.name, func(t *testing.T) {
				s := p.scene(c.name)
				c.stage(t, s)
				e := s.explain(t)
				require.Equal(t, c.cause, e.Cause, "%s; %s", e.Why, e.Move)
				require.Contains(t, e.Why, c.why)
				require.NotEmpty(t, e.Move)
				if c.until == 0 {
					require.Nil(t, e.Until)
				} else {
					require.WithinDuration(t, e.Now.Add(c.until), *e.Until, 20*time.Second)
				}
				require.Equal(t, strings.Replace(c.command, "OWNER", e.ExecutorID, 1), e.Command)
			})
		}
	}
	require.Len(t, seen, len(explain.Causes()), "a cause is not staged")
}

// C7: at another catalog nothing is read, and so nothing is said.
func TestAForeignCatalogIsNotExplained(t *testing.T) {
	t.Parallel()
	s := newPlace(t).scene("foreign")
	s.exec(t, `update dbos.dbos_migrations set version = 114`)
	_, err := explain.Workflow(t.Context(), s.reader, s.id)
	require.ErrorIs(t, err, journal.ErrCatalog)
}

// K4: an expired owner whose transaction is still open holds the takeover off.
func TestAFrozenOwnerIsNamed(t *testing.T) {
	t.Parallel()
	s := newPlace(t).scene("frozen")
	s.version = fixture.Version
	executor := s.Executor(t, 75_000)
	s.executor(t, "live", 0)
	s.insert(t, s.row(executor, "PENDING"))
	tx, err := s.As(t, executor).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into shop.orders (id) values ('open')`)
	require.NoError(t, err)
	s.Expire(t, executor)
	e := s.explain(t)
	require.Equal(t, explain.OwnerFrozen, e.Cause)
	require.Contains(t, e.Why, "open transactions of it hold the takeover off: 1")
	require.Equal(t, "kesita executors revoke "+executor.String(), e.Command)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, explain.TakeoverDue, s.explain(t).Cause)
}

// One screen: where it is, what happened to it, its last steps; never an input or an output.
func TestAnExplanationTellsTheHistory(t *testing.T) {
	t.Parallel()
	s := newPlace(t).scene("told")
	owner := s.executor(t, "live", 0)
	s.insert(t, s.row(owner, "PENDING").With("recovery_attempts", 2).With("workflow_deadline_epoch_ms", milli(-time.Hour)).With("parent_workflow_id", "parent"))
	for n := range 7 {
		s.exec(t, `insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, output, completed_at_epoch_ms) values ($1, $2, 'step', '"secret"', $3)`, s.id, n, milli(0))
	}
	s.exec(t, `insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, queue_name, attempts, checkpoints) values ($1, gen_random_uuid(), 'expired', 'reenqueued', 'orders', 1, 3)`, s.id)
	s.exec(t, `insert into workflow_coordination.claim_refund values ($1, 5)`, s.id)
	e := s.explain(t)
	require.Equal(t, int64(2), e.Attempts)
	require.Equal(t, int64(4), e.MaxAttempts)
	require.Equal(t, int64(5), e.TakenBack)
	require.Equal(t, 7, e.Checkpoints)
	require.Len(t, e.Steps, 5)
	require.Equal(t, 6, e.Steps[4].Number)
	require.Equal(t, "live", e.Lease)
	require.Equal(t, owner.String(), e.ExecutorID)
	require.Equal(t, "parent", e.ParentID)
	require.NotNil(t, e.Deadline)
	require.Len(t, e.Takeovers, 1)
	require.Equal(t, "reenqueued", e.Takeovers[0].Action)
	require.NotContains(t, fmt.Sprintf("%+v", e), "secret")
}
