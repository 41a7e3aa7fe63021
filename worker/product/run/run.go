package run

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/product/ledger"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/summarise"
	"github.com/kesita/platform/worker/product/task"
)

// Provider makes summaries; *summarise.Client is one.
type Provider interface {
	Summarise(ctx context.Context, request summarise.Request) (summarise.Receipt, error)
}

// Admission decides whether a tenant's work may start; *ledger.Ledger is one.
type Admission interface {
	Admit(ctx context.Context, tenant uuid.UUID) (bool, error)
}

// Config is what the workflow works with.
type Config struct {
	// Database is the worker's guarded pool.
	Database  store.Database
	Provider  Provider
	Admission Admission
}

// Register makes product.run known to a runtime that is not launched yet.
func Register(rt workflow.Registrar, config Config) {
	r := runner{config}
	workflow.Register(rt, task.Workflow, r.run)
}

// SettleExhausted settles the task of a workflow that lost its last allowed
// worker, without executing anything (P3). Workflows of other names have nothing
// to settle here. It may be called again.
func SettleExhausted(db store.Database) func(ctx context.Context, workflowID, name string) error {
	return func(ctx context.Context, workflowID, name string) error {
		if name != task.Workflow {
			return nil
		}
		in, err := task.ParseWorkflowID(workflowID)
		if err != nil {
			return err
		}
		_, err = store.Settle(ctx, db, in, task.AttemptsExhausted)
		return err
	}
}

type runner struct{ Config }

// run is the workflow. It must be deterministic: it decides by results of steps only.
func (r runner) run(ctx workflow.Context, in task.Input) (store.Settlement, error) {
	failure, err := r.work(ctx, in)
	if errors.Is(err, errNothingToDo) {
		return store.Settlement{}, nil
	}
	if ctx.Err() != nil {
		return store.Settlement{}, err // this process stops; a peer goes on
	}
	switch {
	case errors.Is(err, workflow.ErrStepBudget):
		failure = task.OverBudget
	case err != nil:
		failure = task.Internal
	}
	return workflow.RunStep(ctx, "settle", func(ctx context.Context) (store.Settlement, error) {
		return store.Settle(ctx, r.Database, in, failure)
	}, workflow.Settle())
}

// errNothingToDo: the task needs nothing from this workflow any more.
var errNothingToDo = errors.New("nothing to do")

// work does everything but the settlement. It returns the first failure, none
// after a publication.
func (r runner) work(ctx workflow.Context, in task.Input) (task.FailureCode, error) {
	started, err := workflow.RunStep(ctx, "load", func(ctx context.Context) (loaded, error) { return r.load(ctx, in) })
	if err != nil || started.Failure != "" {
		return started.Failure, err
	}
	if started.Finished {
		return "", errNothingToDo
	}
	answer, err := workflow.RunStep(ctx, "summarise", func(ctx context.Context) (answered, error) {
		return r.summarise(ctx, in, started.Run)
	})
	if err != nil || answer.Failure != "" {
		return answer.Failure, err
	}
	published, err := workflow.RunStep(ctx, "publish", func(ctx context.Context) (published, error) { return r.publish(ctx, in) })
	return published.Failure, err
}

// loaded is the checkpoint of the first step.
type loaded struct {
	Run      store.Run        `json:"run"`
	Finished bool             `json:"finished,omitempty"`
	Failure  task.FailureCode `json:"failure,omitempty"`
}

// load admits the tenant and starts the run. The ledger is asked first: a task
// that is not admitted never runs.
func (r runner) load(ctx context.Context, in task.Input) (loaded, error) {
	admitted, err := r.Admission.Admit(ctx, in.TenantID)
	switch {
	case errors.Is(err, ledger.ErrUnavailable):
		return loaded{Failure: task.AdmissionUnavailable}, nil
	case err != nil:
		return loaded{}, err
	case !admitted:
		return loaded{Failure: task.NotAdmitted}, nil
	}
	run, err := store.StartRun(ctx, r.Database, in)
	switch {
	case errors.Is(err, store.ErrStaleGeneration):
		return loaded{Failure: task.StaleGeneration}, nil
	case errors.Is(err, store.ErrTaskFinished):
		return loaded{Finished: true}, nil
	}
	return loaded{Run: run}, err
}

// answered is the checkpoint of the second step. The answer itself is in its table.
type answered struct {
	ReceiptID string           `json:"receipt_id,omitempty"`
	Failure   task.FailureCode `json:"failure,omitempty"`
}

// summarise gets the provider's answer into its table. Each send is noted by a
// guarded write before it leaves: that is the lease check of the outbound call,
// and what remains when this process dies in the middle (F7).
func (r runner) summarise(ctx context.Context, in task.Input, run store.Run) (answered, error) {
	known, err := store.AnsweredReceipt(ctx, r.Database, in)
	if err != nil || known != "" {
		return answered{ReceiptID: known}, err
	}
	text, err := store.RevisionBody(ctx, r.Database, in.TenantID, run.DocumentID, run.BaseRevision)
	if err != nil {
		return answered{}, err
	}
	receipt, err := r.Provider.Summarise(ctx, summarise.Request{
		IdempotencyKey: in.IdempotencyKey(), Text: text, MaxSentences: run.SentenceLimit,
		BeforeSend: func(ctx context.Context) error {
			_, err := store.RecordSend(ctx, r.Database, in)
			return err
		},
	})
	var failed *summarise.Error
	switch {
	case err == nil:
		answer := store.Answer{ReceiptID: receipt.ID, Model: receipt.Model, Summary: receipt.Summary}
		return answered{ReceiptID: receipt.ID}, store.RecordAnswer(ctx, r.Database, in, answer)
	case errors.Is(err, store.ErrStaleGeneration):
		return answered{Failure: task.StaleGeneration}, nil
	case errors.As(err, &failed):
		return answered{Failure: failureOf(failed)}, store.RecordFailure(ctx, r.Database, in, string(failed.Reason), failed.MayHaveActed)
	}
	return answered{}, err
}

func failureOf(failed *summarise.Error) task.FailureCode {
	switch {
	case errors.Is(failed, summarise.ErrOutcomeUnknown):
		return task.UnknownOutcome
	case errors.Is(failed, summarise.ErrProviderUnavailable):
		return task.ProviderUnavailable
	case errors.Is(failed, summarise.ErrProviderRefused):
		return task.ProviderRefused
	case errors.Is(failed, summarise.ErrProviderNonsense):
		return task.ProviderNonsense
	}
	return task.Internal
}

// published is the checkpoint of the third step.
type published struct {
	Revision int              `json:"revision,omitempty"`
	Failure  task.FailureCode `json:"failure,omitempty"`
}

func (r runner) publish(ctx context.Context, in task.Input) (published, error) {
	done, err := store.Publish(ctx, r.Database, in)
	switch {
	case errors.Is(err, store.ErrRevisionConflict):
		return published{Failure: task.RevisionConflict}, nil
	case errors.Is(err, store.ErrStaleGeneration), errors.Is(err, store.ErrTaskFinished):
		return published{Failure: task.StaleGeneration}, nil
	}
	return published{Revision: done.Revision}, err
}
