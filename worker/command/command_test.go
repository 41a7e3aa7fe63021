package command_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/command"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/product"
)

const text = "The harbour closes when the wind is above nine. Ships wait outside the harbour until the wind falls. " +
	"The wind is measured on the tower every minute. Coffee is served at ten."

func TestMigrate(t *testing.T) {
	t.Parallel()
	p := empty(t)
	environ := []string{"PRODUCT_DATABASE_URL=" + p.url("owner")}
	golden(t, "migrate.json", ok(t, environ, "", p.migrate("product", "--output", "json")...))
	golden(t, "migrate.txt", ok(t, environ, "", p.migrate("product")...))

	t.Run("AllNeedsEveryServicesOwnDatabase", func(t *testing.T) {
		t.Parallel()
		a := call(t, []string{"DATABASE_URL=" + p.url("owner")}, "", "migrate")
		require.Equal(t, boot.ExitConfiguration, a.code)
		require.Contains(t, a.stderr, "set PRODUCT_DATABASE_URL")
	})

	t.Run("AnotherServicesDatabaseIsRefused", func(t *testing.T) {
		t.Parallel()
		other := migrated(t, "product")
		other.exec(t, `update workflow_coordination.application set application_name = 'kesita-other'`)
		a := call(t, other.as("owner"), "", other.migrate("product")...)
		require.Contains(t, a.stderr, "database belongs to another application: kesita-other, this is kesita-product")
		require.Equal(t, boot.ExitConfiguration, a.code)
	})
}

// The main job of the product through the command line: submit, wait, look.
func TestTask(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	p.work(t, product.Service(), "PROVIDER_URL="+summaries(t))
	file := filepath.Join(t.TempDir(), "harbour.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	t.Run("SubmitAndStatus", func(t *testing.T) {
		t.Parallel()
		document := ok(t, p.as("api"), "", "task", "submit", "--tenant", "harbour", "--wait", "--sentences", "1", "-o", "json", file)
		golden(t, "task-submit.json", document)
		var submitted struct {
			TaskID string `json:"task_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(document), &submitted))
		golden(t, "task-status.json", ok(t, p.as("reader"), "", "task", "status", "--tenant", "harbour", "-o", "json", submitted.TaskID))
		golden(t, "task-status.txt", ok(t, p.as("reader"), "", "task", "status", "--tenant", "harbour", "--wait", submitted.TaskID))
		a := call(t, p.as("reader"), "", "task", "status", "--tenant", "harbour", uuid.NewString())
		require.Equal(t, answer{code: boot.ExitUsage, stderr: "kesita: show task: read task: task is unknown\n"}, a)
	})

	t.Run("StandardInput", func(t *testing.T) {
		t.Parallel()
		golden(t, "task-submit.txt", ok(t, p.as("api"), text, "task", "submit", "--tenant", "quay", "--title", "Wind", "--wait", "-"))
	})

	t.Run("FailedWorkIsAFailedCommand", func(t *testing.T) {
		t.Parallel()
		a := call(t, p.as("api"), "REFUSE this. "+text, "task", "submit", "--tenant", "pier", "--wait", "-")
		require.Equal(t, 1, a.code)
		require.Regexp(t, `^kesita: task [0-9a-f-]{36}: failed: provider_refused\n$`, a.stderr)
		require.Contains(t, a.stdout, "failed: provider_refused")
	})

	t.Run("AnInterruptEndsTheWaitAndNotTheWork", func(t *testing.T) {
		t.Parallel()
		idle := migrated(t, "product")
		ctx, cancel := context.WithCancel(t.Context())
		context.AfterFunc(t.Context(), cancel)
		var stderr strings.Builder
		code := make(chan int)
		go func() {
			code <- command.Main(ctx, []string{"task", "submit", "--tenant", "a", "--wait", "-"}, idle.as("api"), strings.NewReader(text), &strings.Builder{}, &stderr)
		}()
		require.Eventually(t, func() bool { return idle.count(t, `select count(*) from dbos.workflow_status`) == 1 }, patience, tick)
		cancel()
		require.Equal(t, 130, <-code)
		require.Equal(t, "kesita: interrupted\n", stderr.String())
		require.Equal(t, 1, idle.count(t, `select count(*) from product.task where state = 'queued'`))
	})
}

// The main job of the corpus through the command line: add, wait, look, search.
func TestCorpus(t *testing.T) {
	t.Parallel()
	p := migrated(t, "corpus")
	p.work(t, corpus.Service())
	folder := filepath.Join(t.TempDir(), "documents")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "empty"), 0o700))
	for name, content := range map[string]string{"harbour.txt": text, "tower.md": "# Tower\n\nThe wind is measured here.", "noise.bin": "\x00\x01\x02\xff"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}

	document := ok(t, p.as("api"), "", "corpus", "add", "--wait", "-o", "json", folder)
	golden(t, "corpus-add.json", document)
	var added struct {
		Jobs []struct {
			ID string `json:"job_id"`
		} `json:"jobs"`
	}
	require.NoError(t, json.Unmarshal([]byte(document), &added))
	golden(t, "corpus-status.json", ok(t, p.as("reader"), "", "corpus", "status", "-o", "json", added.Jobs[0].ID))
	golden(t, "corpus-status.txt", ok(t, p.as("reader"), "", "corpus", "status", "--wait", added.Jobs[0].ID))
	golden(t, "corpus-search.json", ok(t, p.as("reader"), "", "corpus", "search", "-o", "json", "--limit", "1", "wind", "tower"))
	golden(t, "corpus-search.txt", ok(t, p.as("reader"), "", "corpus", "search", "wind"))
	require.Equal(t, "nothing found\n", ok(t, p.as("reader"), "", "corpus", "search", "zeppelin"))

	t.Run("AFailedJobIsAFailedCommand", func(t *testing.T) {
		t.Parallel()
		a := call(t, p.as("api"), "", "corpus", "add", "--wait", filepath.Join(folder, "harbour.txt"), filepath.Join(folder, "empty"))
		require.Equal(t, 1, a.code)
		require.Regexp(t, `^kesita: corpus job [0-9a-f-]{36}: failed: empty_source\n$`, a.stderr)
		require.Contains(t, a.stdout, "1: 0 indexed, 1 unchanged")
	})

	t.Run("AllSourcesAreAddedOrNone", func(t *testing.T) {
		t.Parallel()
		a := call(t, p.as("api"), "", "corpus", "add", "/none/of/these", "ftp://x/y\x00")
		require.Equal(t, boot.ExitUsage, a.code)
		require.Zero(t, p.count(t, `select count(*) from corpus.job where source = '/none/of/these'`))
	})
}

// The leases of a running worker, one that ended, and one that is gone without a word (O3).
func TestExecutors(t *testing.T) {
	t.Parallel()
	p := migrated(t, "product")
	require.Equal(t, "no executor ever registered here\n", ok(t, p.as("reader"), "", "executors"))
	p.exec(t, `insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login, build_version,
			lease_ms, transaction_ms, heartbeat_at, expires_at, released_at, revoked_at) values
		(gen_random_uuid(), 'kesita-product', 'kesita-product-v1', 'active', 'w', 'v1.0.0', 75000, 20000, clock_timestamp(), clock_timestamp() + interval '75 s', null, null),
		(gen_random_uuid(), 'kesita-product', 'kesita-product-v1', 'active', 'w', 'v1.0.0', 75000, 20000, clock_timestamp() - interval '80 s', clock_timestamp() - interval '5 s', null, null),
		(gen_random_uuid(), 'kesita-product', 'kesita-product-v1', 'revoked', 'w', 'v1.0.0', 75000, 20000, clock_timestamp() - interval '3 h', clock_timestamp() - interval '3 h', null, clock_timestamp()),
		(gen_random_uuid(), 'kesita-product', 'kesita-product-v1', 'released', 'w', 'v1.0.0', 75000, 20000, clock_timestamp() - interval '9 d', clock_timestamp() - interval '9 d', clock_timestamp(), null)`)
	golden(t, "executors.txt", ok(t, p.as("reader"), "", "executors"))
	golden(t, "executors.json", ok(t, []string{"PRODUCT_DATABASE_URL=" + p.url("reader")}, "", "executors", "--limit", "2", "--output=json"))

	t.Run("TheInspectionQueryWorksForAReader", func(t *testing.T) {
		t.Parallel()
		conn, err := pgx.Connect(t.Context(), p.url("reader"))
		require.NoError(t, err)
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		rows, err := conn.Query(t.Context(), `SELECT application_name, application_version, executor_id, state,
       heartbeat_at, expires_at, revoked_at
FROM workflow_coordination.executor
ORDER BY heartbeat_at DESC;`)
		require.NoError(t, err)
		states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			values, err := row.Values()
			return values[3].(string), err
		})
		require.NoError(t, err)
		require.Equal(t, []string{"active", "active", "revoked", "released"}, states)
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^kesita \S+ \(revision \S+, go1\.\S+, DBOS 1\.4\.0, catalog 113\)\n$`, ok(t, nil, "", "version"))
	var version map[string]any
	require.NoError(t, json.Unmarshal([]byte(ok(t, nil, "", "version", "-o", "json")), &version))
	require.Len(t, version, 5)
	require.EqualValues(t, 113, version["catalog"])
}
