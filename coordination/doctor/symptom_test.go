package doctor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/doctor"
	"github.com/kesita/platform/test/fixture"
)

const (
	minute  = int64(60_000)
	version = fixture.Version
)

// ago is a time in the journal's unit.
func ago(minutes int64) int64 { return time.Now().UnixMilli() - minutes*minute }

// symptom is one thing that is staged, and every finding that it must give; all other checks must be silent.
type symptom struct {
	name  string
	stage func(t *testing.T, p patient)
	want  []finding
}

type finding struct {
	check    doctor.Check
	severity doctor.Severity
	object   string // empty: any
	detail   string // part of it
}

// fixed IDs, so that expectations can name them.
func executorID(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// over adds an executor with a known ID that is over since some minutes.
func (p patient) over(t *testing.T, n int, state string, minutes int64) uuid.UUID {
	t.Helper()
	id := p.executor(t, state, version, time.Duration(minutes)*time.Minute)
	p.exec(t, `update workflow_coordination.executor set executor_id = $1 where executor_id = $2`, executorID(n), id)
	return executorID(n)
}

func (p patient) queue(t *testing.T, name string, concurrency any) {
	t.Helper()
	p.exec(t, `insert into dbos.queues (queue_id, name, concurrency, worker_concurrency, polling_interval_sec, priority_enabled, partition_queue)
		values (gen_random_uuid()::text, $1, $2, $2, 1, false, false)`, name, concurrency)
}

func (p patient) held(t *testing.T, id string) {
	t.Helper()
	p.exec(t, `insert into workflow_coordination.suspect (workflow_id, application_name, application_version, losses) values ($1, $2, $3, 2)`,
		id, fixture.Application, version)
}

func (p patient) quarantined(t *testing.T, id string, failures int, settled bool, minutes int64) {
	t.Helper()
	p.insert(t, pending(id, uuid.New()).With("status", "MAX_RECOVERY_ATTEMPTS_EXCEEDED").With("queue_name", nil).With("completed_at", ago(minutes)))
	p.exec(t, `insert into workflow_coordination.quarantine (workflow_id, workflow_name, attempts, reason, lost_executor, quarantined_at, signalled_at, settle_failures, settled_at)
		values ($1, 'shop.order', 4, 'attempts_exhausted', gen_random_uuid(), now() - $2 * interval '1 min', now(), $3, case when $4 then now() end)`,
		id, minutes, failures, settled)
}

func ownerSymptoms() []symptom {
	return []symptom{
		{"OwnerIsNotInTheRegistry", func(t *testing.T, p patient) {
			p.insert(t, pending("a", executorID(1)), pending("b", executorID(1)), pending("c", executorID(2)).With("executor_id", "local"))
		}, []finding{
			{doctor.MissingRegistryRow, doctor.Error, executorID(1).String(), "pending workflows of kesita-shop kesita-shop-v1: 2; their owner is not in the registry"},
			{doctor.MissingRegistryRow, doctor.Error, "local", "kesita-shop-v1: 1; their owner is not in the registry"},
		}},
		{"OwnerIsOfAnotherVersion", func(t *testing.T, p patient) {
			p.insert(t, pending("a", p.executor(t, "live", "kesita-shop-v2", 0)))
		}, []finding{{doctor.MissingRegistryRow, doctor.Error, "", "their owner is registered for kesita-shop-v2"}}},
		{"OwnerExpiredJustNow", func(t *testing.T, p patient) { p.insert(t, pending("a", p.over(t, 1, "expired", 0))) }, []finding{
			{doctor.ExpiredExecutor, doctor.Warning, executorID(1).String(), "its revocation is due"},
			{doctor.OrphanedPending, doctor.Warning, executorID(1).String(), "pending workflows: 1; their executor is expired; the takeover is due"},
		}},
		{"OwnerExpiredLongAgo", func(t *testing.T, p patient) {
			p.insert(t, pending("a", p.over(t, 1, "expired", 3)).With("started_at_epoch_ms", ago(3)))
		}, []finding{
			{doctor.ExpiredExecutor, doctor.Error, executorID(1).String(), "its revocation is overdue"},
			{doctor.OrphanedPending, doctor.Error, executorID(1).String(), "the takeover is overdue"},
		}},
		{"LateClaimOfARevokedOwner", func(t *testing.T, p patient) { p.insert(t, pending("a", p.over(t, 1, "revoked", 600))) }, []finding{
			{doctor.OrphanedPending, doctor.Warning, executorID(1).String(), "their executor is revoked; the takeover is due"},
		}},
		{"NobodyIsLeftToTakeOver", func(t *testing.T, p patient) {
			p.exec(t, `delete from workflow_coordination.executor`)
			p.executor(t, "live", "kesita-shop-v2", 0)
			p.insert(t, pending("a", p.over(t, 1, "released", 600)).With("started_at_epoch_ms", ago(600)))
		}, []finding{
			{doctor.OrphanedPending, doctor.Warning, executorID(1).String(), "released; no living peer could take them over"},
			{doctor.StrandedVersion, doctor.Error, fixture.Application + " " + version, "unfinished workflows: 1; no executor"},
		}},
		{"AStepThatTakesTooLong", func(t *testing.T, p patient) {
			live := p.executor(t, "live", version, 0)
			p.insert(t, pending("slow", live).With("started_at_epoch_ms", ago(40)), pending("busy", live).With("started_at_epoch_ms", ago(40)), pending("young", live))
			p.exec(t, `insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, completed_at_epoch_ms) values ('busy', 0, 'x', $1), ('slow', 0, 'x', $2)`, ago(5), ago(35))
		}, []finding{{doctor.SlowPending, doctor.Warning, "slow", "no step ended since"}}},
		{"AStepThatTakesTooLongForAScaledProfile", func(t *testing.T, p patient) {
			live := p.executor(t, "live", version, 0)
			p.exec(t, `update workflow_coordination.executor set lease_ms = 7500, transaction_ms = 2000`)
			p.insert(t, pending("slow", live).With("started_at_epoch_ms", ago(4)), pending("fine", live).With("started_at_epoch_ms", ago(2)))
		}, []finding{{doctor.SlowPending, doctor.Warning, "slow", "no step ended since"}}},
		{"AnEmptyWorkflowID", func(t *testing.T, p patient) { p.insert(t, pending("", p.executor(t, "live", version, 0))) }, []finding{
			{doctor.EmptyWorkflowID, doctor.Error, "the workflow with the empty ID", "state PENDING"},
		}},
		{"APrivateQueueOutlivedItsExecutor", func(t *testing.T, p patient) {
			p.queue(t, "kesita-probe-"+p.over(t, 1, "revoked", 5).String(), 1)
			p.queue(t, "kesita-probe-"+p.executor(t, "live", version, 0).String(), 1)
			p.insert(t, enqueued("kesita-probe-"+executorID(2).String(), "kesita-probe-"+executorID(2).String()))
		}, []finding{
			{doctor.AbandonedQueue, doctor.Error, "kesita-probe-" + executorID(2).String(), "the registry does not know its executor"},
			{doctor.AbandonedQueue, doctor.Warning, "kesita-probe-" + executorID(1).String(), "its executor is over"},
		}},
	}
}

func queueSymptoms() []symptom {
	return []symptom{
		{"WorkOfAVersionThatNobodyRuns", func(t *testing.T, p patient) {
			p.queue(t, "orders", 2)
			p.insert(t, enqueued("a", "orders").With("application_version", "kesita-shop-v0"), enqueued("b", "orders").With("application_version", "kesita-shop-v0").With("status", "DELAYED"),
				enqueued("c", "orders").With("application_name", "kesita-other").With("created_at", ago(-1)), enqueued("ours", "orders").With("application_version", nil))
		}, []finding{
			{doctor.StrandedVersion, doctor.Error, fixture.Application + " kesita-shop-v0", "unfinished workflows: 2"},
			{doctor.StrandedVersion, doctor.Error, "kesita-other " + version, "unfinished workflows: 1"},
		}},
		{"AQueueThatDoesNotExist", func(t *testing.T, p patient) {
			p.insert(t, enqueued("a", "ghost"), enqueued("b", "_dbos_internal_queue"))
		}, []finding{
			{doctor.UnservedQueue, doctor.Error, "ghost", "waiting workflows: 1; the queue is not registered"},
		}},
		{"AQueueThatNobodyPolls", func(t *testing.T, p patient) {
			p.queue(t, "orders", 2)
			p.insert(t, enqueued("a", "orders").With("updated_at", ago(5)))
		}, []finding{{doctor.UnservedQueue, doctor.Warning, "orders", "there is room, and nobody claims"}}},
		{"AQueueFullOfHeldWork", func(t *testing.T, p patient) {
			p.queue(t, "orders", 2)
			lost := p.over(t, 1, "revoked", 5)
			p.insert(t, pending("a", lost), pending("b", lost), enqueued("c", "orders"))
			p.held(t, "a")
			p.held(t, "b")
		}, []finding{
			{doctor.BlockedQueue, doctor.Error, "orders", "waiting workflows: 1; places taken: 2 of 2, by living executors: 0, by held work: 2, by executors that are over: 0"},
			{doctor.HeldSuspect, doctor.Warning, fixture.Application + " " + version, "workflows held back: 2; on probation: none"},
		}},
		{"AQueueHalfFullOfTheDead", func(t *testing.T, p patient) {
			p.queue(t, "orders", 2)
			p.insert(t, pending("a", p.over(t, 1, "revoked", 5)), pending("b", p.executor(t, "live", version, 0)), enqueued("c", "orders"))
		}, []finding{
			{doctor.OrphanedPending, doctor.Warning, executorID(1).String(), "due"},
			{doctor.BlockedQueue, doctor.Warning, "orders", "by living executors: 1, by held work: 0, by executors that are over: 1"},
		}},
		{"AQueueFullOfLivingWork", func(t *testing.T, p patient) {
			p.queue(t, "orders", 1)
			p.insert(t, pending("b", p.executor(t, "live", version, 0)), enqueued("c", "orders").With("updated_at", ago(60)))
		}, nil},
	}
}

func quarantineSymptoms() []symptom {
	return []symptom{
		{"QuarantinedAndSettled", func(t *testing.T, p patient) { p.quarantined(t, "a", 0, true, 60) }, []finding{
			{doctor.Quarantined, doctor.Warning, "a", "shop.order lost 4 workers (attempts_exhausted), settled as failed"},
		}},
		{"QuarantinedAndNotSettled", func(t *testing.T, p patient) {
			p.quarantined(t, "failing", 3, false, 1)
			p.quarantined(t, "forgotten", 0, false, 60)
			p.quarantined(t, "fresh", 0, false, 1)
			p.insert(t, pending("sdk", uuid.New()).With("status", "MAX_RECOVERY_ATTEMPTS_EXCEEDED").With("completed_at", ago(0)))
		}, []finding{
			{doctor.Unsettled, doctor.Error, "forgotten", "shop.order not settled"},
			{doctor.Unsettled, doctor.Error, "failing", "settling it failed 3 times"},
			{doctor.Unsettled, doctor.Warning, "fresh", "not settled"},
			{doctor.Unsettled, doctor.Warning, "sdk", "given up by the SDK"},
		}},
		{"Parked", func(t *testing.T, p patient) {
			p.insert(t, enqueued("a", "kesita-parked").With("name", "shop.unheard"))
			p.exec(t, `insert into workflow_coordination.parked (workflow_id, workflow_name, queue_name, parked_by) values ('a', 'shop.unheard', 'orders', gen_random_uuid())`)
		}, []finding{{doctor.Parked, doctor.Warning, "a", "no worker knew the name shop.unheard; taken out of queue orders"}}},
		{"OneAttemptBeforeQuarantine", func(t *testing.T, p patient) {
			live := p.executor(t, "live", version, 0)
			p.queue(t, "orders", 5)
			p.insert(t, pending("last", live).With("recovery_attempts", 4), pending("fine", live).With("recovery_attempts", 3),
				enqueued("next", "orders").With("recovery_attempts", 3).With("created_at", ago(-1)))
		}, []finding{
			{doctor.LastAttempt, doctor.Warning, "last", "4 of 4 attempts used, the last one runs"},
			{doctor.LastAttempt, doctor.Warning, "next", "3 of 4 attempts used, the next one is the last"},
		}},
	}
}

// O4: each of these leaves work standing still, or nearly; each is found by name, with its severity, and nothing else is
// said.
func TestEverySymptomIsFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	for group, list := range map[string][]symptom{"Owner": ownerSymptoms(), "Queue": queueSymptoms(), "Quarantine": quarantineSymptoms()} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, fixture.Copy(t))
			for _, s := range list {
				t.Run(s.name, func(t *testing.T) {
					defer p.tidy(t)
					p.executor(t, "live", version, 0) // a peer
					s.stage(t, p)
					report := p.examine(t, "")
					var got []finding
					for _, f := range report.Findings {
						if f.Severity == doctor.OK || f.Check == doctor.Fence {
							continue
						}
						i := len(got)
						require.Less(t, i, len(s.want), "%+v", f)
						require.Contains(t, f.Detail, s.want[i].detail)
						require.NotEmpty(t, f.Remedy)
						require.NotContains(t, f.Remedy, "{}")
						require.GreaterOrEqual(t, f.AgeMS, int64(0))
						object := f.Object
						if s.want[i].object == "" {
							object = ""
						}
						got = append(got, finding{f.Check, f.Severity, object, s.want[i].detail})
					}
					require.Equal(t, s.want, got)
				})
			}
		})
	}
}

func (p patient) tidy(t *testing.T) {
	t.Helper()
	for _, table := range []string{
		"dbos.workflow_status", "dbos.operation_outputs", "dbos.queues", "workflow_coordination.executor",
		"workflow_coordination.quarantine", "workflow_coordination.parked", "workflow_coordination.suspect",
	} {
		p.exec(t, `delete from `+table)
	}
}

// K4: an executor that expired in the middle of a transaction is told apart from one that a scan forgot.
func TestAnOpenTransactionOfAnExpiredExecutorIsNamed(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	executor := p.Executor(t, 600_000)
	p.Executor(t, 600_000)
	tx, err := p.As(t, executor).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into shop.orders (id) values ('open')`)
	require.NoError(t, err)
	p.Expire(t, executor)
	found := of(p.examine(t, ""), doctor.ExpiredExecutor)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Detail, "transactions of it that are still open: 1")
	require.Equal(t, int64(1), found[0].Count)
}

// A long list is cut, and says so.
func TestAListOfManyFindingsIsCut(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	p.exec(t, `insert into workflow_coordination.quarantine (workflow_id, attempts, reason, lost_executor, settled_at)
		select 'w-' || n, 4, 'attempts_exhausted', gen_random_uuid(), now() from generate_series(1, 70) n`)
	found := of(p.examine(t, ""), doctor.Quarantined)
	require.Len(t, found, 51)
	require.Equal(t, "and 20 more like these", found[50].Detail)
}

// The cost of an examination is that of unfinished work: with a history of finished work and of tombstones it reads no
// more rows than without, whatever the statistics say.
func TestTheCostOfAnExaminationDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	p := newPatient(t, fixture.Copy(t))
	p.exec(t, `alter table dbos.workflow_status set (autovacuum_enabled = off)`)
	p.exec(t, `alter table workflow_coordination.executor set (autovacuum_enabled = off)`)
	p.exec(t, `analyze dbos.workflow_status`)
	p.exec(t, `insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login,
			lease_ms, transaction_ms, heartbeat_at, expires_at)
		select gen_random_uuid(), $1, $2, 'revoked', 'w', 75000, 20000, now(), now() from generate_series(1, 20000) n`, fixture.Application, version)
	p.exec(t, `insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, application_name, application_version, queue_name, recovery_attempts,
			created_at, updated_at, started_at_epoch_ms, completed_at)
		select 'done-' || n, 'SUCCESS', 'shop.order', gen_random_uuid()::text, $1, $2, 'orders', 1, n, n, n, n from generate_series(1, 20000) n`, fixture.Application, version)
	live, lost := p.executor(t, "live", version, 0), p.over(t, 1, "revoked", 1)
	p.queue(t, "orders", 2)
	p.insert(t, pending("a", live), pending("b", lost), enqueued("c", "orders"), pending("d", uuid.New()))
	for _, statistics := range []string{"misleading", "good"} {
		if statistics == "good" {
			p.exec(t, `analyze dbos.workflow_status; analyze workflow_coordination.executor`)
		}
		read := p.rowsRead(t)
		report := p.examine(t, "")
		require.NotEmpty(t, of(report, doctor.MissingRegistryRow)[0].Object)
		require.Less(t, p.rowsRead(t)-read, 2_000, statistics)
	}
}

// rowsRead is how many rows were read so far in the tables that only grow. The reader's sessions end, so that their
// counts are in.
func (p patient) rowsRead(t *testing.T) (rows int) {
	t.Helper()
	p.reader.Reset()
	require.Eventually(t, func() bool {
		var sessions int
		err := p.owner.QueryRow(t.Context(), `select count(*) from pg_stat_activity where usename = $1 and datname = current_database()`, p.Reader.Name).Scan(&sessions)
		return err == nil && sessions == 0
	}, time.Minute, 10*time.Millisecond)
	p.exec(t, `select pg_stat_clear_snapshot()`)
	require.NoError(t, p.owner.QueryRow(t.Context(), `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables
		where relid in ('dbos.workflow_status'::regclass, 'workflow_coordination.executor'::regclass)`).Scan(&rows))
	return rows
}
