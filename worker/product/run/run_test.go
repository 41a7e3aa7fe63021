package run_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/product/ledger"
	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/run"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/submission"
	"github.com/kesita/platform/worker/product/summarise"
	"github.com/kesita/platform/worker/product/task"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

const (
	patience = 60 * time.Second
	poll     = 20 * time.Millisecond
	// pace shrinks the durations of production so that a queue is polled often.
	pace = 0.3
)

// providerFunc stands for the summarise client.
type providerFunc func(ctx context.Context, r summarise.Request) (summarise.Receipt, error)

func (f providerFunc) Summarise(ctx context.Context, r summarise.Request) (summarise.Receipt, error) {
	return f(ctx, r)
}

// sent is a provider's answer to a request that was noted and sent.
func sent(receipt summarise.Receipt, err error) providerFunc {
	return func(ctx context.Context, r summarise.Request) (summarise.Receipt, error) {
		if err := r.BeforeSend(ctx); err != nil {
			return summarise.Receipt{}, err
		}
		return receipt, err
	}
}

func good() summarise.Receipt {
	return summarise.Receipt{ID: "r-1", Summary: "Wind closes the harbour.", Model: "m"}
}

type admissionFunc func(tenant uuid.UUID) (bool, error)

func (f admissionFunc) Admit(_ context.Context, tenant uuid.UUID) (bool, error) { return f(tenant) }

func everybody(uuid.UUID) (bool, error) { return true, nil }

// worker runs product.run of one service with a provider.
func worker(t *testing.T, s producttest.Service, provider run.Provider, admission run.Admission) *coordination.Runtime {
	t.Helper()
	runtime, err := coordination.Open(t.Context(), coordination.Config{
		Application: product.Application, Version: product.Version, DatabaseURL: s.WorkerURL,
		Timing: coordination.ProductionTiming().Scale(pace), Logger: signal.JSON(io.Discard, 0), Environ: []string{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Shutdown(context.Background())) })
	pool, err := runtime.ConfigurePool(t.Context(), s.WorkerURL, 4)
	require.NoError(t, err)
	run.Register(runtime, run.Config{Database: pool, Provider: provider, Admission: admission})
	require.NoError(t, runtime.AddQueue(coordination.Queue{Name: task.Queue, Concurrency: 4}))
	require.NoError(t, runtime.Launch(t.Context()))
	return runtime
}

// submitted is a task as the command line submits it.
func submitted(t *testing.T, s producttest.Service) task.Input {
	t.Helper()
	client, err := submit.Open(t.Context(), s.APIURL, product.Application, product.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	made, err := submission.Submit(t.Context(), s, client, submission.Request{
		Tenant: "harbour", Author: "ada", Title: "Wind", Body: producttest.Text, Sentences: 1,
	})
	require.NoError(t, err)
	return task.Input{TenantID: made.TenantID, TaskID: made.TaskID, Generation: made.Generation}
}

func finished(t *testing.T, s producttest.Service, in task.Input) store.Status {
	t.Helper()
	var status store.Status
	require.Eventually(t, func() bool {
		status = s.Status(t, in)
		return status.State.Finished()
	}, patience, poll)
	return status
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("ATaskBecomesARevision", func(t *testing.T) {
		t.Parallel()
		s := producttest.Deploy(t)
		var mu sync.Mutex
		var asked []summarise.Request
		worker(t, s, providerFunc(func(ctx context.Context, r summarise.Request) (summarise.Receipt, error) {
			mu.Lock()
			asked = append(asked, r)
			mu.Unlock()
			return sent(good(), nil)(ctx, r)
		}), admissionFunc(everybody))
		in := submitted(t, s)
		status := finished(t, s, in)
		require.Equal(t, task.Done, status.State, "%+v", status)
		require.Equal(t, 2, status.PublishedRevision)
		require.Equal(t, 1, status.Attempts)
		require.Equal(t, 1, status.Sends)
		body, err := store.RevisionBody(t.Context(), s, in.TenantID, status.DocumentID, 2)
		require.NoError(t, err)
		require.Equal(t, good().Summary, body)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, asked, 1)
		require.Equal(t, in.IdempotencyKey(), asked[0].IdempotencyKey)
		require.Equal(t, producttest.Text, asked[0].Text)
		require.Equal(t, 1, asked[0].MaxSentences)
	})

	t.Run("NoTextReachesTheJournal", func(t *testing.T) {
		t.Parallel()
		s := producttest.Deploy(t)
		worker(t, s, sent(good(), nil), admissionFunc(everybody))
		status := finished(t, s, submitted(t, s))
		require.Equal(t, task.Done, status.State)
		var journal string
		require.Eventually(t, func() bool {
			journal = journalText(t, s)
			return strings.Count(journal, `"state":"done"`) == 2
		}, patience, poll, "the last step and the result are looked at")
		require.Contains(t, journal, `"task_id":"`+status.TaskID.String(), "inputs were looked at")
		require.Contains(t, journal, `"receipt_id":"r-1"`, "checkpoints were looked at")
		require.NotContains(t, journal, "harbour")
	})
}

// journalText is everything that the journal keeps as input, checkpoint or result, decoded.
func journalText(t *testing.T, s producttest.Service) string {
	t.Helper()
	rows, err := s.Query(t.Context(), `select inputs from dbos.workflow_input
		union all select output from dbos.operation_outputs union all select output from dbos.workflow_output`)
	require.NoError(t, err)
	encoded, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var text strings.Builder
	for _, value := range encoded {
		decoded, err := base64.StdEncoding.DecodeString(value)
		require.NoError(t, err)
		text.Write(decoded)
	}
	return text.String()
}

// Every failure of the business settles the task with its code, and the code says whether the provider may have acted.
func TestFailuresSettleTheTask(t *testing.T) {
	t.Parallel()
	failed := func(kind error, acted bool) error {
		return &summarise.Error{Kind: kind, Reason: summarise.Busy, MayHaveActed: acted, Attempts: 1}
	}
	for name, c := range map[string]struct {
		provider  providerFunc
		admission admissionFunc
		code      task.FailureCode
		receipt   string
	}{
		"ALedgerThatIsAwayAdmitsNobody": {
			sent(good(), nil), func(uuid.UUID) (bool, error) { return false, ledger.ErrUnavailable },
			task.AdmissionUnavailable, "",
		},
		"ANewErrorIsInternal":          {unsent, everybody, task.Internal, ""},
		"ANewErrorAfterASendIsUnknown": {sent(summarise.Receipt{}, errors.New("new")), everybody, task.UnknownOutcome, "unknown"},
		"AnAnswerThatNeverCame":        {sent(summarise.Receipt{}, failed(summarise.ErrOutcomeUnknown, true)), everybody, task.UnknownOutcome, "unknown"},
		"Nonsense":                     {sent(summarise.Receipt{}, failed(summarise.ErrProviderNonsense, true)), everybody, task.ProviderNonsense, "unknown"},
		"NotAdmitted": {
			sent(good(), nil), func(uuid.UUID) (bool, error) { return false, nil },
			task.NotAdmitted, "",
		},
		"Refused":     {sent(summarise.Receipt{}, failed(summarise.ErrProviderRefused, false)), everybody, task.ProviderRefused, "rejected"},
		"Unavailable": {sent(summarise.Receipt{}, failed(summarise.ErrProviderUnavailable, false)), everybody, task.ProviderUnavailable, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := producttest.Deploy(t)
			worker(t, s, c.provider, c.admission)
			status := finished(t, s, submitted(t, s))
			require.Equal(t, task.Failed, status.State)
			require.Equal(t, c.code, status.Failure)
			require.Equal(t, c.receipt, status.Receipt)
			require.Zero(t, status.PublishedRevision)
		})
	}
}

func unsent(context.Context, summarise.Request) (summarise.Receipt, error) {
	return summarise.Receipt{}, errors.New("new")
}

// What others do meanwhile decides, not what the run saw at its beginning (F8).
func TestTheWorldChangesWhileTheProviderWorks(t *testing.T) {
	t.Parallel()

	t.Run("ALaterGenerationKeepsTheTask", func(t *testing.T) {
		t.Parallel()
		s := producttest.Deploy(t)
		var once sync.Once
		var in task.Input
		ready := make(chan struct{})
		settled := make(chan struct{})
		worker(t, s, providerFunc(func(ctx context.Context, r summarise.Request) (summarise.Receipt, error) {
			receipt, err := sent(good(), nil)(ctx, r)
			<-ready
			once.Do(func() { s.NextGeneration(t, in); close(settled) })
			return receipt, err
		}), admissionFunc(everybody))
		in = submitted(t, s)
		close(ready)
		<-settled
		var failure string
		require.Eventually(t, func() bool {
			err := s.QueryRow(t.Context(), `select coalesce(failure_code, '') from product.run where task_id = $1 and generation = 1`, in.TaskID).Scan(&failure)
			return err == nil && failure != ""
		}, patience, poll)
		require.Equal(t, string(task.StaleGeneration), failure)
		status := s.Status(t, in)
		require.Equal(t, task.Queued, status.State)
		require.Equal(t, 2, status.Generation)
	})

	t.Run("AUsersNewRevisionIsAConflict", func(t *testing.T) {
		t.Parallel()
		s := producttest.Deploy(t)
		var in task.Input
		ready := make(chan struct{})
		worker(t, s, providerFunc(func(ctx context.Context, r summarise.Request) (summarise.Receipt, error) {
			<-ready
			_, err := store.AddRevision(ctx, s, in.TenantID, s.Status(t, in).DocumentID, 1, "Changed by hand.", "grace")
			if err != nil {
				return summarise.Receipt{}, err
			}
			return sent(good(), nil)(ctx, r)
		}), admissionFunc(everybody))
		in = submitted(t, s)
		close(ready)
		status := finished(t, s, in)
		require.Equal(t, task.RevisionConflict, status.Failure)
		require.Equal(t, "answered", status.Receipt, "the provider did its work, and the row says so")
	})
}

// A step that runs again finds what it did (F7).
func TestARepeatedRunAsksNobodyTwice(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	in := s.Task(t)
	_, err := store.StartRun(t.Context(), s, in)
	require.NoError(t, err)
	_, err = store.RecordSend(t.Context(), s, in)
	require.NoError(t, err)
	require.NoError(t, store.RecordAnswer(t.Context(), s, in, store.Answer{ReceiptID: "r-0", Model: "m", Summary: "From before."}))
	worker(t, s, providerFunc(unsent), admissionFunc(everybody))
	enqueue(t, s, in)
	status := finished(t, s, in)
	require.Equal(t, task.Done, status.State, "%+v", status)
	require.Equal(t, "r-0", status.ProviderReceiptID)
	require.Equal(t, 2, status.Attempts)
}

func enqueue(t *testing.T, s producttest.Service, in task.Input) {
	t.Helper()
	client, err := submit.Open(t.Context(), s.APIURL, product.Application, product.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	tx, err := s.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, client.Submit(t.Context(), tx, submit.Request{Queue: task.Queue, Workflow: task.Workflow, ID: in.WorkflowID(), Input: in}))
	require.NoError(t, tx.Commit(t.Context()))
}

// A workflow that lost its last worker settles its task without running (P3).
func TestSettleExhausted(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	settle := run.SettleExhausted(s)
	in := s.Task(t)
	for range 2 {
		require.NoError(t, settle(t.Context(), in.WorkflowID(), task.Workflow))
		require.Equal(t, task.AttemptsExhausted, s.Status(t, in).Failure)
	}
	require.NoError(t, settle(t.Context(), "anything", "product.purge"), "P4: other workflows stay quarantined")
	require.ErrorIs(t, settle(t.Context(), "anything", task.Workflow), task.ErrWorkflowID)
}
