package product_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/product/ledger"
	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/submission"
	"github.com/kesita/platform/worker/product/task"
	shipped "github.com/kesita/platform/worker/provider"
)

// Real processes: two workers, a provider, and a SIGKILL between the provider's effect and its answer (F7, T2).
func TestTheTaskOfAKilledWorkerIsDoneOnceByItsPeer(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	effects := filepath.Join(t.TempDir(), "journal")
	url := provider(t, "-journal", effects, "-delay", "6s")
	workers := []*process{worker(t, s, "PROVIDER_URL="+url), worker(t, s, "PROVIDER_URL="+url)}
	made := submitted(t, s)
	in := task.Input{TenantID: made.TenantID, TaskID: made.TaskID, Generation: made.Generation}

	require.Eventually(t, func() bool { return count(t, effects)[in.IdempotencyKey()].Executed == 1 }, patience, poll, "the provider acted")
	histories, err := journal.Histories(t.Context(), s, []string{made.WorkflowID})
	require.NoError(t, err)
	owner := histories[0].ExecutorID
	for _, w := range workers {
		if w.logged("executor_id") == owner {
			w.kill(t)
			owner = ""
		}
	}
	require.Empty(t, owner, "one of the workers owned the task")

	var status store.Status
	require.Eventually(t, func() bool { status = s.Status(t, in); return status.State.Finished() }, patience, poll)
	require.Equal(t, task.Done, status.State, "%+v", status)
	require.Equal(t, 2, status.PublishedRevision)
	require.Equal(t, 2, status.Sends)
	require.Equal(t, map[string]shipped.JournalCount{in.IdempotencyKey(): {Executed: 1, Replayed: 1}}, count(t, effects))
	tally, err := store.CountTasks(t.Context(), s, in.TenantID)
	require.NoError(t, err)
	require.Equal(t, store.Tally{Done: 1, Published: 1}, tally)
}

// The ledger is part of readiness, and only of that (F9, H3).
func TestTheControlLedger(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	control := func(t *testing.T, statements ...string) string {
		t.Helper()
		name, url := localpgtest.Database(t, localpgtest.Shared(t))
		connection, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err, name)
		defer func() { _ = connection.Close(context.Background()) }()
		for _, statement := range statements {
			_, err = connection.Exec(t.Context(), statement)
			require.NoError(t, err)
		}
		return url
	}

	t.Run("ALedgerThatAnswersIsReadyAndRefusesStrangers", func(t *testing.T) {
		t.Parallel()
		s := producttest.Deploy(t)
		w := worker(t, s, "PROVIDER_URL="+provider(t), "CONTROL_DATABASE_URL="+control(t, ledger.Schema))
		require.Eventually(t, func() bool { code, _ := w.ready(t); return code == 200 }, patience, poll)
		made := submitted(t, s)
		in := task.Input{TenantID: made.TenantID, TaskID: made.TaskID, Generation: made.Generation}
		require.Eventually(t, func() bool { return s.Status(t, in).Failure == task.NotAdmitted }, patience, poll)
	})

	t.Run("ALedgerThatIsAwayMakesTheWorkerUnready", func(t *testing.T) {
		t.Parallel()
		w := worker(t, s, "PROVIDER_URL=http://127.0.0.1:1", "CONTROL_DATABASE_URL=postgres://127.0.0.1:1/ledger?sslmode=disable")
		require.Eventually(t, func() bool {
			code, body := w.ready(t)
			return code == 503 && strings.Contains(body, "control_ledger") && strings.Count(body, `"check"`) == 1
		}, patience, poll, "everything else is ready")
	})

	t.Run("ALedgerWithoutItsTableEndsTheStart", func(t *testing.T) {
		t.Parallel()
		w := worker(t, s, "PROVIDER_URL=http://127.0.0.1:1", "CONTROL_DATABASE_URL="+control(t))
		require.Equal(t, boot.ExitSchema, w.exitCode(t))
		require.Contains(t, w.stderr.String(), "control ledger")
	})
}

// A workflow that lost its last allowed worker is not executed again, and its task is not left waiting (P3).
func TestTheTaskOfAnExhaustedWorkflowIsSettled(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	made := submitted(t, s)
	_, err := s.Exec(t.Context(), `update dbos.workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', queue_name = null
		where workflow_uuid = $1`, made.WorkflowID)
	require.NoError(t, err)
	w := worker(t, s, "PROVIDER_URL=http://127.0.0.1:1")
	in := task.Input{TenantID: made.TenantID, TaskID: made.TaskID, Generation: made.Generation}
	var status store.Status
	require.Eventually(t, func() bool { status = s.Status(t, in); return status.State.Finished() }, patience, poll)
	require.Equal(t, task.AttemptsExhausted, status.Failure)
	require.Zero(t, status.Attempts, "nothing ran")
	require.Contains(t, w.stdout.String(), "workflow_recovery_exhausted")
	require.NotContains(t, w.stdout.String(), "harbour", "the signal names the workflow and never its input")
}

func TestWithoutAProviderNothingStarts(t *testing.T) {
	t.Parallel()
	w := start(t, "product", []string{"DATABASE_URL=postgres://127.0.0.1:1/x?sslmode=disable"})
	require.Equal(t, boot.ExitConfiguration, w.exitCode(t))
	require.Contains(t, w.stderr.String(), "PROVIDER_URL is not set")
}

func submitted(t *testing.T, s producttest.Service) submission.Submitted {
	t.Helper()
	client, err := submit.Open(t.Context(), s.APIURL, product.Application, product.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	made, err := submission.Submit(t.Context(), s, client, submission.Request{
		Tenant: "harbour", Author: "ada", Title: "Wind", Body: producttest.Text, Sentences: 1,
	})
	require.NoError(t, err)
	return made
}

// count reads a provider's journal; a file that is not there yet is empty.
func count(t *testing.T, path string) map[string]shipped.JournalCount {
	t.Helper()
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	counts, err := shipped.CountJournal(file)
	require.NoError(t, err)
	return counts
}
