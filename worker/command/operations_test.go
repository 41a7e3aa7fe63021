package command_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
)

// operated is a place with the URLs that operators have.
func (p place) operated() []string {
	return append(p.as("reader"), "OPERATOR_DATABASE_URL="+p.url("owner"), "WORKER_DATABASE_URL="+p.url("worker"))
}

// executor adds an executor whose lease ended some minutes ago, or is good for an hour.
func (p place) executor(t testing.TB, state string, minutes int) uuid.UUID {
	t.Helper()
	id := uuid.New()
	p.exec(t, fmt.Sprintf(`insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login, build_version,
			lease_ms, transaction_ms, registered_at, heartbeat_at, expires_at, revoked_at)
		select '%s', 'kesita-product', 'kesita-product-v1', '%s', '%s_worker', 'v1.0.0', 75000, 20000, at - interval '3 h', at, at, case '%s' when 'revoked' then at end
		  from (select clock_timestamp() - %d * interval '1 min' as at) x`, id, state, p.name, state, minutes))
	return id
}

// workflow adds a workflow that an executor claimed nine minutes ago.
func (p place) workflow(t testing.TB, id, status string, owner uuid.UUID, attempts int) {
	t.Helper()
	p.exec(t, fmt.Sprintf(`insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, application_name, application_version, queue_name,
			recovery_attempts, started_at_epoch_ms, created_at, updated_at)
		select '%s', '%s', 'product.run', '%s', 'kesita-product', 'kesita-product-v1', 'product-run', %d, at, at - 3600000, at
		  from (select floor(extract(epoch from clock_timestamp() - interval '9 min') * 1000)::bigint as at) x`, id, status, owner, attempts))
}

// told makes an output comparable: names of this database, counts that grow with the schema, ages.
func (p place) told(out string) string {
	out = strings.ReplaceAll(out, p.name, "product")
	for _, r := range [][2]string{
		{`\d+ tables, \d+ writes`, "17 tables, 816 writes"},
		{`"tables": \d+`, `"tables": 17`},
		{`"refusals": \d+`, `"refusals": 816`},
		{`"age_ms": [1-9]\d*`, `"age_ms": 1234`},
		{`for \d+s\b`, "for 1s"},
	} {
		out = regexp.MustCompile(r[0]).ReplaceAllString(out, r[1])
	}
	return out
}

// X4: one look at a database that is well, and one at a database that is not; the status says which.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	golden(t, "doctor-well.txt", p.told(ok(t, p.operated(), "", "doctor")))

	t.Run("WithoutAProofItWarns", func(t *testing.T) {
		a := call(t, p.as("reader"), "", "doctor")
		require.Equal(t, 1, a.code)
		require.Contains(t, a.stdout, "the fence was NOT proven")
	})

	t.Run("Sick", func(t *testing.T) {
		p.executor(t, "active", -60)
		lost := p.executor(t, "active", 10)
		p.workflow(t, "product.run/1", "PENDING", lost, 1)
		p.exec(t, `create table product.note (id int)`)
		p.exec(t, `grant insert on product.note to `+p.name+`_worker`)
		a := call(t, p.operated(), "", "doctor")
		require.Equal(t, answer{code: 2, stdout: a.stdout}, a)
		golden(t, "doctor.txt", p.told(a.stdout))
		a = call(t, append(p.operated(), "PRODUCT_DATABASE_URL="+p.url("reader")), "", "doctor", "-o", "json")
		require.Equal(t, 2, a.code)
		golden(t, "doctor.json", p.told(a.stdout))
	})
}

// X4: where it is, why it stands there, what would move it.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	p.executor(t, "active", -60)
	lost := p.executor(t, "active", 10)
	p.workflow(t, "product.run/1", "PENDING", lost, 2)
	p.exec(t, `insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, queue_name, attempts, checkpoints, happened_at)
		values ('product.run/1', gen_random_uuid(), 'expired', 'reenqueued', 'product-run', 1, 1, clock_timestamp() - interval '1 s')`)
	p.exec(t, `insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, completed_at_epoch_ms)
		select 'product.run/1', 0, 'prepare', floor(extract(epoch from clock_timestamp()) * 1000) - 1000`)
	golden(t, "explain.txt", ok(t, p.as("reader"), "", "explain", "product.run/1"))
	golden(t, "explain.json", ok(t, p.as("reader"), "", "explain", "product.run/1", "-o", "json"))

	t.Run("NotFound", func(t *testing.T) {
		a := call(t, p.as("reader"), "", "explain", "nowhere")
		require.Equal(t, boot.ExitUsage, a.code)
		require.Contains(t, a.stdout, "not_found")
	})
}

// B47: by hand, safely.
func TestExecutorsRevoke(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	lost, live := p.executor(t, "active", 10), p.executor(t, "active", -60)
	p.workflow(t, "product.run/1", "PENDING", lost, 1)
	p.workflow(t, "product.run/2", "PENDING", live, 3)
	golden(t, "executors-revoke.txt", ok(t, p.operated(), "", "executors", "revoke", lost.String()))

	a := call(t, p.operated(), "", "executors", "revoke", live.String())
	require.Equal(t, boot.ExitUsage, a.code)
	require.Regexp(t, `executor is alive: kesita-product kesita-product-v1 \(build v1\.0\.0\), registered \d+h ago, renewed .* ago, pending workflows: 1; --force`, a.stderr)
	golden(t, "executors-revoke.json", ok(t, p.operated(), "", "executors", "revoke", live.String(), "--force", "-o", "json"))

	ghost := uuid.New()
	require.Equal(t, boot.ExitUsage, call(t, p.operated(), "", "executors", "revoke", ghost.String()).code)
	p.workflow(t, "product.run/3", "PENDING", ghost, 1)
	a = call(t, p.operated(), "", "executors", "revoke", ghost.String())
	require.Equal(t, boot.ExitUsage, a.code)
	require.Contains(t, a.stderr, "pending workflows name it: 1; when no such process runs any more, --force takes their work over")
	require.Contains(t, ok(t, p.operated(), "", "executors", "revoke", ghost.String(), "--force"), "was unregistered, is revoked")
}

// P3, K10: one workflow at a time, and nobody retries by accident.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	require.Equal(t, "no workflow waits for an operator\n", ok(t, p.as("reader"), "", "quarantine", "list"))
	lost := p.executor(t, "revoked", 10)
	p.executor(t, "active", -60)
	p.workflow(t, "product.run/1", "MAX_RECOVERY_ATTEMPTS_EXCEEDED", lost, 4)
	p.exec(t, `insert into workflow_coordination.quarantine (workflow_id, workflow_name, queue_name, deduplication_id, attempts, reason, lost_executor, signalled_at, settled_at, quarantined_at)
		values ('product.run/1', 'product.run', 'product-run', 'once', 4, 'attempts_exhausted', '`+lost.String()+`', now(), now(), now() - interval '3 h')`)
	p.workflow(t, "product.run/2", "PENDING", lost, 2)
	p.exec(t, `insert into workflow_coordination.suspect (workflow_id, application_name, application_version, losses, held_at) values ('product.run/2', 'kesita-product', 'kesita-product-v1', 2, now() - interval '2 h')`)
	p.workflow(t, "product.run/3", "ENQUEUED", lost, 0)
	p.exec(t, `update dbos.workflow_status set queue_name = 'kesita-parked' where workflow_uuid = 'product.run/3'`)
	p.exec(t, `insert into workflow_coordination.parked (workflow_id, workflow_name, queue_name, parked_by, parked_at) values ('product.run/3', 'product.run', 'product-run', '`+lost.String()+`', now() - interval '1 h')`)
	golden(t, "quarantine-list.txt", ok(t, p.as("reader"), "", "quarantine", "list"))
	golden(t, "quarantine-list.json", ok(t, p.as("reader"), "", "quarantine", "list", "-o", "json"))
	for id, cause := range map[string]string{"product.run/1": "quarantined", "product.run/2": "held_suspect", "product.run/3": "parked"} {
		require.Contains(t, ok(t, p.as("reader"), "", "quarantine", "show", id), cause)
	}

	t.Run("Refusals", func(t *testing.T) {
		for _, c := range []struct {
			says string
			args []string
		}{
			{"a retry resets the protection: it gets 4 attempts again, and it lost 4 workers, the last one it was allowed; its business state was settled as failed. When the cause was repaired, add --yes", []string{"retry", "product.run/1"}},
			{"not possible now: held_suspect", []string{"retry", "product.run/2", "--yes"}},
			{"not possible now: quarantined", []string{"grant", "product.run/1"}},
			{"not possible now: held_suspect", []string{"unpark", "product.run/2"}},
			{"there is no such workflow", []string{"grant", "nowhere"}},
			{"there is no such workflow", []string{"show", "nowhere"}},
			{"unexpected argument product.run/2", []string{"grant", "product.run/1", "product.run/2"}},
		} {
			a := call(t, p.operated(), "", append([]string{"quarantine"}, c.args...)...)
			require.Equal(t, boot.ExitUsage, a.code, a.stderr)
			require.Contains(t, a.stderr, c.says)
		}
	})

	t.Run("AnotherWorkflowHasTheDeduplicationID", func(t *testing.T) {
		p.workflow(t, "product.run/4", "ENQUEUED", lost, 0)
		p.exec(t, `update dbos.workflow_status set deduplication_id = 'once' where workflow_uuid = 'product.run/4'`)
		a := call(t, p.operated(), "", "quarantine", "retry", "product.run/1", "--yes")
		require.Equal(t, boot.ExitUsage, a.code)
		require.Contains(t, a.stderr, "another workflow of the queue has its deduplication ID")
		p.exec(t, `delete from dbos.workflow_status where workflow_uuid = 'product.run/4'`)
	})

	golden(t, "quarantine-grant.json", ok(t, p.operated(), "", "quarantine", "grant", "product.run/2", "-o", "json"))
	golden(t, "quarantine-retry.txt", ok(t, p.operated(), "", "quarantine", "retry", "product.run/1", "--yes"))
	require.Contains(t, ok(t, p.operated(), "", "quarantine", "unpark", "product.run/3"), "unparked")
	var left struct{ Workflows []struct{ Kind string } }
	require.NoError(t, json.Unmarshal([]byte(ok(t, p.as("reader"), "", "quarantine", "list", "-o", "json")), &left))
	require.Len(t, left.Workflows, 1)
	require.Equal(t, 2, p.count(t, `select count(*) from dbos.workflow_status where queue_name = 'product-run' and status = 'ENQUEUED' and recovery_attempts = 0`))
}

// K1: the platform's own tables have one owner, and only that login operates on them.
func TestOnlyTheOwnersLoginOperates(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	live := p.executor(t, "active", -60)
	for _, args := range [][]string{
		{"executors", "revoke", live.String(), "--force"},
		{"quarantine", "retry", "x", "--yes"},
		{"quarantine", "grant", "x"},
		{"quarantine", "unpark", "x"},
	} {
		a := call(t, p.as("owner"), "", args...)
		require.Equal(t, boot.ExitConfiguration, a.code)
		require.Contains(t, a.stderr, "set OPERATOR_DATABASE_URL to the database as its owner")
		for _, login := range []string{"reader", "api", "worker"} {
			a := call(t, nil, "", append(args, "--operator-url", p.url(login))...)
			require.Equal(t, boot.ExitPermission, a.code, a.stderr)
			require.Contains(t, a.stderr, "login is not the owner of this database: it is "+p.name+"_"+login+", the owner is "+p.name+"_owner: set OPERATOR_DATABASE_URL")
		}
	}
	p.exec(t, `update dbos.dbos_migrations set version = 114`) // C7
	for _, args := range [][]string{{"executors", "revoke", live.String(), "--force"}, {"quarantine", "grant", "x"}, {"explain", "x"}} {
		a := call(t, p.operated(), "", args...)
		require.Equal(t, boot.ExitSchema, a.code)
		require.Contains(t, a.stderr, "found catalog 114")
	}
	require.Equal(t, 1, p.count(t, `select count(*) from workflow_coordination.executor where state = 'active' and expires_at > now()`))

	bare := empty(t)
	for _, args := range [][]string{{"doctor"}, {"explain", "x"}, {"quarantine", "list"}, {"quarantine", "grant", "x"}} {
		a := call(t, bare.operated(), "", args...)
		require.Equal(t, boot.ExitSchema, a.code, a.stderr)
		require.Contains(t, a.stderr, "run the migration")
	}
}
