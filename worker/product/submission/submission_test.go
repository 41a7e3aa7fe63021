package submission_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/submission"
	"github.com/kesita/platform/worker/product/task"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

// queueFunc stands for the submit client.
type queueFunc func(submit.Request) error

func (f queueFunc) Submit(_ context.Context, _ pgx.Tx, r submit.Request) error { return f(r) }

func request() submission.Request {
	return submission.Request{Tenant: "harbour", Author: "ada", Title: "Wind", Body: producttest.Text}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)

	t.Run("ATaskIsQueuedWithItsWorkflow", func(t *testing.T) {
		t.Parallel()
		var queued submit.Request
		s, err := submission.Submit(t.Context(), db, queueFunc(func(r submit.Request) error { queued = r; return nil }), request())
		require.NoError(t, err)
		in := task.Input{TenantID: s.TenantID, TaskID: s.TaskID, Generation: 1}
		require.Equal(t, submit.Request{Queue: "product-run", Workflow: "product.run", ID: in.WorkflowID(), Input: in}, queued)
		require.Equal(t, s.WorkflowID, queued.ID)
		status := db.Status(t, in)
		require.Equal(t, task.Queued, status.State)
		require.Equal(t, s.DocumentID, status.DocumentID)
		body, err := store.RevisionBody(t.Context(), db, s.TenantID, s.DocumentID, 1)
		require.NoError(t, err)
		require.Equal(t, producttest.Text, body)
	})

	t.Run("ATenantIsFoundByItsName", func(t *testing.T) {
		t.Parallel()
		accept := queueFunc(func(submit.Request) error { return nil })
		first, err := submission.Submit(t.Context(), db, accept, request())
		require.NoError(t, err)
		second, err := submission.Submit(t.Context(), db, accept, request())
		require.NoError(t, err)
		require.Equal(t, first.TenantID, second.TenantID)
		require.NotEqual(t, first.TaskID, second.TaskID)
	})

	t.Run("WithoutAQueuedWorkflowThereIsNothing", func(t *testing.T) {
		t.Parallel()
		full := errors.New("queue is full")
		r := request()
		r.Tenant = "nobody"
		_, err := submission.Submit(t.Context(), db, queueFunc(func(submit.Request) error { return full }), r)
		require.ErrorIs(t, err, full)
		_, err = store.TenantByName(t.Context(), db, "nobody")
		require.ErrorIs(t, err, store.ErrTenantUnknown)
	})
}

func TestValidateNamesAllFaults(t *testing.T) {
	t.Parallel()
	require.NoError(t, request().Validate())
	err := submission.Request{Title: strings.Repeat("é", 501), Sentences: 51, Body: "\x00", Tenant: "a\x00b"}.Validate()
	for _, fault := range []error{submission.ErrTenantName, submission.ErrAuthor, submission.ErrTitle, submission.ErrSentences, task.ErrBodyNotText} {
		require.ErrorIs(t, err, fault)
	}
	longest := request()
	longest.Title, longest.Tenant, longest.Sentences = strings.Repeat("é", 500), strings.Repeat("é", 200), 50
	require.NoError(t, longest.Validate())
}
