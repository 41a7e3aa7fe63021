package evidence_test

import (
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/split"
	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/demo/evidence/evidencetest"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/task"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

func TestTasksTellWhatWasPublishedAndWhoseFaultAFailureIs(t *testing.T) {
	t.Parallel()
	db := producttest.Open(t)
	published, refused, lost, queued := db.Task(t), db.Task(t), db.Task(t), db.Task(t)
	for _, in := range []task.Input{published, refused, lost} {
		_, err := store.StartRun(t.Context(), db, in)
		require.NoError(t, err)
	}
	_, err := store.RecordSend(t.Context(), db, published)
	require.NoError(t, err)
	require.NoError(t, store.RecordAnswer(t.Context(), db, published, store.Answer{ReceiptID: "r", Model: "m", Summary: "Short."}))
	_, err = store.Publish(t.Context(), db, published)
	require.NoError(t, err)
	for in, failure := range map[task.Input]task.FailureCode{published: "", refused: task.ProviderRefused, lost: task.ProviderUnavailable} {
		_, err = store.Settle(t.Context(), db, in, failure)
		require.NoError(t, err)
	}

	rows, err := evidence.Tasks(t.Context(), db)
	require.NoError(t, err)
	seen := byID(rows)
	require.Equal(t, evidence.Item{ID: published.TaskID.String(), State: "done", Settled: true, Runs: 1, Published: 1}, seen[published.TaskID.String()])
	require.True(t, seen[refused.TaskID.String()].Refused)
	require.Equal(t, "provider_unavailable", seen[lost.TaskID.String()].Failure)
	require.False(t, seen[lost.TaskID.String()].Refused)
	require.Equal(t, evidence.Item{ID: queued.TaskID.String(), State: "queued"}, seen[queued.TaskID.String()])

	revision, err := evidence.Published(t.Context(), db, published.TaskID.String())
	require.NoError(t, err)
	require.Equal(t, evidence.Revision{Revision: 2, Text: "Short."}, revision)
	revision, err = evidence.Published(t.Context(), db, queued.TaskID.String())
	require.NoError(t, err)
	require.Zero(t, revision)
}

func TestJobsTellPassagesThatAreMissingOrThereTwice(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	id := uuid.NewString()
	created, err := index.Create(t.Context(), db, id, "file:///shelf")
	require.NoError(t, err)
	require.True(t, created)
	fence, err := index.Begin(t.Context(), db, id)
	require.NoError(t, err)
	require.NoError(t, index.Plan(t.Context(), db, fence, []string{"file:///shelf/a", "file:///shelf/b"}))
	uri, now, err := index.Item(t.Context(), db, fence, 0)
	require.NoError(t, err)
	_, err = index.Publish(t.Context(), db, fence, index.Document{
		Ordinal: 0, URI: uri, Source: "file:///shelf", Title: "A", ReadAt: now, Passages: []split.Passage{{Body: "one"}, {Body: "two"}},
	})
	require.NoError(t, err)
	require.NoError(t, index.Refuse(t.Context(), db, fence, 1, refusal.Binary, ""))
	_, err = index.Settle(t.Context(), db, fence, "", "")
	require.NoError(t, err)

	job := func() evidence.Item {
		rows, err := evidence.Jobs(t.Context(), db)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		return rows[0]
	}
	whole := evidence.Item{ID: id, State: "done", Settled: true, Runs: 1, Published: 1, Parts: 2}
	require.Equal(t, whole, job())

	exec := func(sql string, args ...any) {
		_, err := db.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	exec(`insert into corpus.document (uri, source, title, content_hash, job_id, ordinal, attempt, read_at)
		select uri, source, title, content_hash, job_id, ordinal, attempt, read_at from corpus.document`)
	exec(`insert into corpus.passage (document_id, ordinal, section, heading, body)
		select document_id, 0, '', '', 'one' from corpus.document where published_at is null`)
	doubled := whole
	doubled.Doubled = 1
	require.Equal(t, doubled, job(), "a draft that nobody publishes")

	exec(`delete from corpus.document where published_at is null`)
	exec(`delete from corpus.passage where ordinal = 1`)
	missing := whole
	missing.Parts, missing.Missing = 1, 1
	require.Equal(t, missing, job())
}

func TestLeasesAndTakeoversAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	d := corpustest.Deploy(t)
	admin, err := pgx.Connect(t.Context(), d.AdminURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close(t.Context()) })
	lost, peer := uuid.NewString(), uuid.NewString()
	_, err = admin.Exec(t.Context(), `insert into workflow_coordination.executor
		(executor_id, application_name, application_version, state, worker_login, lease_ms, transaction_ms, heartbeat_at, expires_at, revoked_at, revoked_by)
		values ($1::uuid, 'a', 'v', 'revoked', 'w', 1000, 10, now(), now(), now(), $2::uuid), ($2::uuid, 'a', 'v', 'active', 'w', 1000, 10, now(), now(), null, null)`,
		lost, peer)
	require.NoError(t, err)
	_, err = admin.Exec(t.Context(), `insert into workflow_coordination.takeover
		(workflow_id, lost_executor, scanner_executor, cause, action, attempts, checkpoints) values ('w1', $1, $2, 'expired', 'reenqueued', 1, 3)`, lost, peer)
	require.NoError(t, err)

	s := evidence.Service{Items: []evidence.Item{{WorkflowID: "w1"}}}
	require.NoError(t, s.ReadLeases(t.Context(), d, map[string]string{lost: "corpus-1"}))
	require.Equal(t, "corpus-1", s.Replica(lost))
	require.Equal(t, peer[:8], s.Replica(peer), "not started by the demo")
	executor, known := s.Executor(lost)
	require.True(t, known)
	require.Equal(t, peer, executor.RevokedBy)
	require.False(t, executor.RevokedAt.IsZero())
	moves := s.TakeoversOf("w1")
	require.Len(t, moves, 1)
	require.Equal(t, 3, moves[0].Checkpoints)
	require.Empty(t, s.Histories, "the journal has no such workflow")
	now, err := evidence.Now(t.Context(), d)
	require.NoError(t, err)
	require.False(t, now.Before(executor.RevokedAt))
}

func TestARowThatNobodySubmittedIsExtraAndALostOneIsCounted(t *testing.T) {
	t.Parallel()
	s := evidence.Service{Items: []evidence.Item{
		{ID: "a", Document: "a.txt", WorkflowID: "w/a", Key: "k"}, {ID: "b", Document: "b.txt", WorkflowID: "w/b", Rows: 1},
	}}
	s.Apply([]evidence.Item{{ID: "a", State: "done", Settled: true}, {ID: "c"}})
	require.Equal(t, []string{"c"}, s.Extra)
	require.Equal(t, evidence.Item{ID: "a", Document: "a.txt", WorkflowID: "w/a", Key: "k", Rows: 1, State: "done", Settled: true}, s.Items[0])
	require.Zero(t, s.Items[1].Rows)
}

func TestAWorkflowIsUnderWayBetweenItsFirstCheckpointAndItsSettlement(t *testing.T) {
	t.Parallel()
	h := evidencetest.Run().Services[0].Kill.Held[0]
	require.True(t, evidence.UnderWay(h))
	settled := h
	settled.Checkpoints = []journal.Checkpoint{{Name: "settle"}}
	require.False(t, evidence.UnderWay(settled))
	fresh := h
	fresh.Checkpoints = nil
	require.False(t, evidence.UnderWay(fresh))
	done := h
	done.State = journal.Succeeded
	require.False(t, evidence.UnderWay(done))
}

func byID(rows []evidence.Item) map[string]evidence.Item {
	seen := map[string]evidence.Item{}
	for _, row := range rows {
		seen[row.ID] = row
	}
	return seen
}
