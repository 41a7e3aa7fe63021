package store_test

import (
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/task"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

const digest = "Wind closes the harbour."

// answered brings a task to the point where it can publish.
func answered(t *testing.T, db producttest.Database, in task.Input) store.Run {
	t.Helper()
	run, err := store.StartRun(t.Context(), db, in)
	require.NoError(t, err)
	_, err = store.RecordSend(t.Context(), db, in)
	require.NoError(t, err)
	require.NoError(t, store.RecordAnswer(t.Context(), db, in, store.Answer{ReceiptID: "r1", Model: "m", Summary: digest}))
	return run
}

// The fences of the domain (F8).
func TestPublish(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	ctx := t.Context()

	t.Run("AChangedDocumentIsAConflictAndKeepsTheUsersText", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		run := answered(t, db, in)
		number, err := store.AddRevision(ctx, db, in.TenantID, run.DocumentID, 1, "Written meanwhile.", "grace")
		require.NoError(t, err)
		require.Equal(t, 2, number)
		_, err = store.Publish(ctx, db, in)
		require.ErrorIs(t, err, store.ErrRevisionConflict)
		body, err := store.RevisionBody(ctx, db, in.TenantID, run.DocumentID, 2)
		require.NoError(t, err)
		require.Equal(t, "Written meanwhile.", body)
		settled, err := store.Settle(ctx, db, in, task.RevisionConflict)
		require.NoError(t, err)
		require.Equal(t, store.Settlement{State: task.Failed, Failure: task.RevisionConflict}, settled)
	})

	t.Run("AFinishedTaskPublishesNothing", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		_, err := store.Settle(ctx, db, in, task.Internal)
		require.NoError(t, err)
		_, err = store.Publish(ctx, db, in)
		require.ErrorIs(t, err, store.ErrTaskFinished)
	})

	t.Run("AnotherTenantSeesNoTask", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		run := answered(t, db, in)
		stranger := in
		stranger.TenantID = db.Task(t).TenantID
		_, err := store.StartRun(ctx, db, stranger)
		require.ErrorIs(t, err, store.ErrTaskUnknown)
		_, err = store.RecordSend(ctx, db, stranger)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		require.Error(t, store.RecordAnswer(ctx, db, stranger, store.Answer{ReceiptID: "x", Model: "x", Summary: "x"}))
		_, err = store.Publish(ctx, db, stranger)
		require.ErrorIs(t, err, store.ErrTaskUnknown)
		_, err = store.Settle(ctx, db, stranger, task.Internal)
		require.ErrorIs(t, err, store.ErrTaskUnknown)
		_, err = store.TaskStatus(ctx, db, stranger.TenantID, stranger.TaskID)
		require.ErrorIs(t, err, store.ErrTaskUnknown)
		_, err = store.RevisionBody(ctx, db, stranger.TenantID, run.DocumentID, 1)
		require.ErrorIs(t, err, store.ErrDocumentUnknown)
		_, err = store.AddRevision(ctx, db, stranger.TenantID, run.DocumentID, 1, "Mine now.", "eve")
		require.ErrorIs(t, err, store.ErrRevisionConflict)
		_, err = store.CreateTask(ctx, db, stranger.TenantID, run.DocumentID, 1)
		require.ErrorContains(t, err, "task_tenant_id_document_id_fkey")
		require.Equal(t, task.Running, db.Status(t, in).State, "and changes nothing")
	})

	t.Run("APublicationIsTheNextRevisionAndEndsWell", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		run := answered(t, db, in)
		published, err := store.Publish(ctx, db, in)
		require.NoError(t, err)
		require.Equal(t, store.Published{Revision: 2}, published)
		settled, err := store.Settle(ctx, db, in, "")
		require.NoError(t, err)
		require.Equal(t, store.Settlement{State: task.Done, Revision: 2}, settled)
		body, err := store.RevisionBody(ctx, db, in.TenantID, run.DocumentID, 2)
		require.NoError(t, err)
		require.Equal(t, digest, body)
		status := db.Status(t, in)
		require.Equal(t, task.Done, status.State)
		require.Equal(t, 2, status.PublishedRevision)
		require.Equal(t, "answered", status.Receipt)
		require.Equal(t, "r1", status.ProviderReceiptID)
		require.NotNil(t, status.FinishedAt)
	})

	t.Run("AStaleGenerationIsRefused", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		later := db.NextGeneration(t, in)
		_, err := store.Publish(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		_, err = store.StartRun(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		_, err = store.RecordSend(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration, "nothing is sent for a generation that cannot publish")
		settled, err := store.Settle(ctx, db, in, "")
		require.NoError(t, err)
		require.Equal(t, task.StaleGeneration, settled.Failure)
		require.Equal(t, task.Queued, db.Status(t, in).State, "the later generation is untouched")
		answered(t, db, later)
		_, err = store.RecordSend(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		_, err = store.Publish(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		_, err = store.Publish(ctx, db, later)
		require.NoError(t, err)
	})

	t.Run("ASecondCallReturnsTheFirstRevisionThoughTheTaskMovedOn", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		_, err := store.Publish(ctx, db, in)
		require.NoError(t, err)
		db.NextGeneration(t, in)
		again, err := store.Publish(ctx, db, in)
		require.NoError(t, err)
		require.Equal(t, store.Published{Revision: 2, Replayed: true}, again)
	})

	t.Run("NothingIsPublishedWithoutAnAnswer", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		_, err = store.Publish(ctx, db, in)
		require.ErrorIs(t, err, store.ErrNotAnswered)
		status := db.Status(t, in)
		require.Zero(t, status.PublishedRevision)
		_, err = store.AddRevision(ctx, db, in.TenantID, status.DocumentID, 1, "Still at one.", "ada")
		require.NoError(t, err, "the document did not move")
	})

	t.Run("TwoPublishersOfOneGenerationPublishOnce", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		run := answered(t, db, in)
		const publishers = 8
		outcomes := make([]store.Published, publishers)
		group, groupCtx := errgroup.WithContext(ctx)
		for i := range publishers {
			group.Go(func() (err error) {
				outcomes[i], err = store.Publish(groupCtx, db, in)
				return err
			})
		}
		require.NoError(t, group.Wait())
		fresh := 0
		for _, outcome := range outcomes {
			require.Equal(t, 2, outcome.Revision)
			if !outcome.Replayed {
				fresh++
			}
		}
		require.Equal(t, 1, fresh)
		_, err := store.RevisionBody(ctx, db, in.TenantID, run.DocumentID, 3)
		require.ErrorIs(t, err, store.ErrDocumentUnknown)
	})

	t.Run("TwoTasksOfOneDocumentPublishOnceAndConflictOnce", func(t *testing.T) {
		t.Parallel()
		first := db.Task(t)
		second, err := store.CreateTask(ctx, db, first.TenantID, db.Status(t, first).DocumentID, 1)
		require.NoError(t, err)
		answered(t, db, first)
		answered(t, db, second)
		var group errgroup.Group
		errs := make([]error, 2)
		for i, in := range []task.Input{first, second} {
			group.Go(func() error { _, errs[i] = store.Publish(ctx, db, in); return nil })
		}
		require.NoError(t, group.Wait())
		if errs[0] != nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], store.ErrRevisionConflict)
	})
}

func TestStartRun(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	ctx := t.Context()

	t.Run("AFinishedTaskDoesNotStart", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.Settle(ctx, db, in, task.NotAdmitted)
		require.NoError(t, err)
		_, err = store.StartRun(ctx, db, in)
		require.ErrorIs(t, err, store.ErrTaskFinished)
	})

	t.Run("ASecondStartKeepsRunAndBaseAndCountsTheAttempt", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		first, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		_, err = store.AddRevision(ctx, db, in.TenantID, first.DocumentID, 1, "Changed.", "ada")
		require.NoError(t, err)
		second, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		require.Equal(t, first, second, "the text that the provider saw decides the base")
		require.Equal(t, 2, db.Status(t, in).Attempts)
	})

	t.Run("AnUnknownTaskIsNamed", func(t *testing.T) {
		t.Parallel()
		_, err := store.StartRun(ctx, db, task.Input{TenantID: uuid.New(), TaskID: uuid.New(), Generation: 1})
		require.ErrorIs(t, err, store.ErrTaskUnknown)
	})
}

// An effect that may have happened is never taken for one that did not (F7).
func TestReceipt(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	ctx := t.Context()

	t.Run("AnAnsweredReceiptSendsNothingMore", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		_, err := store.RecordSend(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
		receipt, err := store.AnsweredReceipt(ctx, db, in)
		require.NoError(t, err)
		require.Equal(t, "r1", receipt)
	})

	t.Run("AnUnansweredRequestSettlesAsUnknownOutcome", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		_, err = store.RecordSend(ctx, db, in)
		require.NoError(t, err)
		settled, err := store.Settle(ctx, db, in, task.Internal)
		require.NoError(t, err)
		require.Equal(t, task.UnknownOutcome, settled.Failure)
		require.Equal(t, "unknown", db.Status(t, in).Receipt)
		again, err := store.Settle(ctx, db, in, task.Internal)
		require.NoError(t, err)
		require.Equal(t, settled, again)
	})

	t.Run("EachSendIsCountedAndReopensTheQuestion", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		for want := 1; want <= 3; want++ {
			sends, err := store.RecordSend(ctx, db, in)
			require.NoError(t, err)
			require.Equal(t, want, sends)
			require.Equal(t, "requested", db.Status(t, in).Receipt)
			require.NoError(t, store.RecordFailure(ctx, db, in, "busy", want == 2))
			require.Equal(t, map[bool]string{true: "unknown", false: "rejected"}[want == 2], db.Status(t, in).Receipt)
		}
	})

	t.Run("AStaleGenerationSendsNothingMore", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		_, err = store.RecordSend(ctx, db, in)
		require.NoError(t, err)
		_, err = store.StartRun(ctx, db, db.NextGeneration(t, in))
		require.NoError(t, err)
		_, err = store.RecordSend(ctx, db, in)
		require.ErrorIs(t, err, store.ErrStaleGeneration)
	})

	t.Run("NoAnswerIsStoredWithoutARequest", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		require.Error(t, store.RecordAnswer(ctx, db, in, store.Answer{ReceiptID: "r", Model: "m", Summary: "s"}))
	})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	ctx := t.Context()

	t.Run("APublishedGenerationIsDoneWhateverTheCallerSays", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		_, err := store.Publish(ctx, db, in)
		require.NoError(t, err)
		settled, err := store.Settle(ctx, db, in, task.Internal)
		require.NoError(t, err)
		require.Equal(t, task.Done, settled.State)
		require.Equal(t, task.Done, db.Status(t, in).State)
	})

	t.Run("SettlingAgainChangesNothing", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		_, err := store.StartRun(ctx, db, in)
		require.NoError(t, err)
		_, err = store.Settle(ctx, db, in, task.ProviderRefused)
		require.NoError(t, err)
		before := db.Status(t, in)
		again, err := store.Settle(ctx, db, in, task.ProviderNonsense)
		require.NoError(t, err)
		require.Equal(t, task.ProviderRefused, again.Failure)
		require.Equal(t, before, db.Status(t, in))
	})

	t.Run("TheTallyOfAllStatesAgrees", func(t *testing.T) {
		t.Parallel()
		in := db.Task(t)
		answered(t, db, in)
		_, err := store.Publish(ctx, db, in)
		require.NoError(t, err)
		_, err = store.Settle(ctx, db, in, "")
		require.NoError(t, err)
		document := db.Status(t, in).DocumentID
		var tasks []task.Input
		for range 3 {
			more, err := store.CreateTask(ctx, db, in.TenantID, document, 1)
			require.NoError(t, err)
			tasks = append(tasks, more)
		}
		_, err = store.StartRun(ctx, db, tasks[0])
		require.NoError(t, err)
		_, err = store.Settle(ctx, db, tasks[1], task.NotAdmitted)
		require.NoError(t, err)
		tally, err := store.CountTasks(ctx, db, in.TenantID)
		require.NoError(t, err)
		require.Equal(t, store.Tally{Queued: 1, Running: 1, Done: 1, Failed: 1, Published: 1}, tally)
	})
}

// A worker login without an identity cannot write any business table (F6, K2).
func TestEveryTableIsGuarded(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	login := pgxLogin(t, db)
	tables, err := db.Query(t.Context(), `select relname::text from pg_class where relnamespace = 'product'::regnamespace and relkind in ('r', 'p')`)
	require.NoError(t, err)
	defer tables.Close()
	names := 0
	for tables.Next() {
		var name string
		require.NoError(t, tables.Scan(&name))
		_, err := login.Exec(t.Context(), `delete from product.`+name)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "KF003", refused.Code, name)
		names++
	}
	require.NoError(t, tables.Err())
	require.Equal(t, 6, names)
	require.NoError(t, store.Check(t.Context(), login), "reading is allowed")
	_, err = db.Exec(t.Context(), `select workflow_coordination.verify_guards()`)
	require.NoError(t, err)
}

// pgxLogin makes a worker login for this database and connects as it.
func pgxLogin(t *testing.T, db producttest.Database) *pgxpool.Pool {
	t.Helper()
	_, err := db.Exec(t.Context(), `create role `+db.Name+` login password 'secret';
		grant usage on schema product to `+db.Name+`;
		grant select, insert, update, delete on all tables in schema product to `+db.Name+`;
		insert into workflow_coordination.worker_login values ('`+db.Name+`')`)
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), localpgtest.Shared(t).URL(db.Name, "secret", db.Name))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
