package corpus_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/source"
)

const (
	patience = 90 * time.Second
	poll     = 20 * time.Millisecond
	// pace shrinks the durations of production so that a queue is polled often.
	pace = 0.3
)

// worker runs corpus.index of one service in this process.
func worker(t *testing.T, s corpustest.Service, change ...func(*coordination.Timing)) *coordination.Runtime {
	t.Helper()
	timing := coordination.ProductionTiming().Scale(pace)
	for _, c := range change {
		c(&timing)
	}
	runtime, err := coordination.Open(t.Context(), coordination.Config{
		Application: corpus.Application, Version: corpus.Version, DatabaseURL: s.WorkerURL,
		Timing: timing, Logger: signal.JSON(io.Discard, 0), Environ: []string{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Shutdown(context.Background())) })
	pool, err := runtime.ConfigurePool(t.Context(), s.WorkerURL, 4)
	require.NoError(t, err)
	sources, err := source.New(source.Config{Limit: 4096, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	corpus.RegisterIndex(runtime, corpus.IndexConfig{
		Database: pool, Sources: sources, Tries: 3, FirstPause: time.Millisecond, LongestPause: time.Millisecond,
	})
	require.NoError(t, runtime.AddQueue(coordination.Queue{Name: corpus.Queue, Concurrency: 2}))
	require.NoError(t, runtime.Launch(t.Context()))
	return runtime
}

// submitted is a job as the command line submits it.
func submitted(t *testing.T, s corpustest.Service, r corpus.Request) corpus.Submitted {
	t.Helper()
	client, err := submit.Open(t.Context(), s.APIURL, corpus.Application, corpus.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	made, err := corpus.Submit(t.Context(), s, client, r)
	require.NoError(t, err)
	return made
}

// finished waits for the job of a source.
func finished(t *testing.T, s corpustest.Service, from string) index.Job {
	t.Helper()
	made := submitted(t, s, corpus.Request{Source: from})
	var job index.Job
	require.Eventually(t, func() bool {
		job = s.Job(t, made.JobID)
		return job.Finished()
	}, patience, poll)
	require.Eventually(t, func() bool {
		var state string
		err := s.QueryRow(t.Context(), `select status from dbos.workflow_status where workflow_uuid = $1`, made.WorkflowID).Scan(&state)
		require.NotEqual(t, "ERROR", state, "a refusal is no failure of the workflow")
		return err == nil && state == "SUCCESS"
	}, patience, poll)
	return job
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func titles(t *testing.T, s corpustest.Service, query string) []string {
	t.Helper()
	hits, err := index.Search(t.Context(), s, query, 10)
	require.NoError(t, err)
	found := []string{}
	for _, hit := range hits {
		found = append(found, hit.Title)
	}
	return found
}

func TestIndexing(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	worker(t, s)

	t.Run("AFolderBecomesSearchableAndWhatCannotBeReadIsNamed", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{
			"a.md":         "# Lichen\n\nA marriage of alga and fungus.\n\n## Growth\n\nOne millimetre a year.",
			"sub/b.html":   "<title>Moss</title><script>evil()</script><p>It drinks through its leaves.",
			"c.txt":        "Ferns\n\nThey unroll in spring.",
			"noise.txt":    "a\x00b\x01c",
			"paper.pdf":    "%PDF-1.7",
			"huge.txt":     strings.Repeat("large ", 1000),
			"nothing.txt":  " \n",
			".hidden.text": "hidden alga",
		})
		job := finished(t, s, dir)
		require.Equal(t, index.Done, job.State, "%+v", job)
		require.Equal(t, []int{1, 7, 3, 0, 4}, []int{job.Attempt, job.Items, job.Indexed, job.Unchanged, job.Refused})
		require.EqualValues(t, 4, job.Passages)
		require.Equal(t, []string{"Lichen"}, titles(t, s, "alga"))
		require.Equal(t, []string{"Moss"}, titles(t, s, "drinking"))
		require.Empty(t, titles(t, s, "evil"))
		faults, err := index.Faults(t.Context(), s, job.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []index.Fault{
			{URI: "file://" + dir + "/huge.txt", Code: refusal.TooLarge, Detail: "document too large: 5.9 KiB > 4 KiB"},
			{URI: "file://" + dir + "/noise.txt", Code: refusal.Binary, Detail: "document is binary: no text in any known encoding"},
			{URI: "file://" + dir + "/nothing.txt", Code: refusal.NoText, Detail: "document has no text"},
			{URI: "file://" + dir + "/paper.pdf", Code: refusal.Unsupported, Detail: "document format unsupported: application/pdf"},
		}, faults)

		require.NoError(t, os.WriteFile(filepath.Join(dir, "c.txt"), []byte("Horsetails\n\nOlder than the dinosaurs."), 0o600))
		require.NoError(t, os.Remove(filepath.Join(dir, "sub", "b.html")))
		job = finished(t, s, dir+"/")
		require.Equal(t, []int{6, 1, 1, 4, 1}, []int{job.Items, job.Indexed, job.Unchanged, job.Refused, job.Removed}, "%+v", job)
		require.Empty(t, titles(t, s, "drinking or unroll"))
		require.Equal(t, []string{"Horsetails"}, titles(t, s, "dinosaur"))
	})

	t.Run("AJobThatFindsNothingToIndexHasFailedAndSaysWhy", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			from string
			want refusal.Code
		}{
			"empty":   {folder(t, nil), refusal.EmptySource},
			"missing": {"/does/not/exist", refusal.Missing},
			"binary":  {folder(t, map[string]string{"a": "\x00", "b": "\x00\x01"}), refusal.Binary},
			"various": {folder(t, map[string]string{"a": "\x00", "b": ""}), refusal.NothingIndexed},
			"unknown": {"relative", refusal.UnknownSource},
		} {
			job := finished(t, s, c.from)
			require.Equal(t, index.Failed, job.State, name)
			require.Equal(t, c.want, job.FailureCode, name)
			require.NotEmpty(t, job.FailureDetail, name)
		}
	})

	t.Run("ADisturbanceThatPassesIsWaitedOutAndOneThatStaysIsNot", func(t *testing.T) {
		t.Parallel()
		var asked [2]atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/stays":
				asked[1].Add(1)
				w.WriteHeader(http.StatusBadGateway)
			case asked[0].Add(1) < 3:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				_, _ = io.WriteString(w, "Quartz rings.")
			}
		}))
		t.Cleanup(server.Close)
		job := finished(t, s, server.URL+"/passes.txt")
		require.Equal(t, index.Done, job.State, "%+v", job)
		require.Equal(t, []string{"Quartz rings."}, titles(t, s, "quartz"))
		job = finished(t, s, server.URL+"/stays")
		require.Equal(t, refusal.Unavailable, job.FailureCode)
		require.EqualValues(t, 3, asked[1].Load())
	})
}

// D8: a document that takes for ever costs the job this document.
func TestADocumentOverItsBudgetIsRefusedAndTheJobGoesOn(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	worker(t, s, func(timing *coordination.Timing) {
		timing.StepExecute = timing.StepSettle + time.Second // about the least that is safe
	})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	job := finished(t, s, server.URL)
	require.Equal(t, index.Failed, job.State)
	require.Equal(t, refusal.OverBudget, job.FailureCode)
	require.Equal(t, 1, job.Refused)
}

func TestNoTextReachesTheJournal(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	worker(t, s)
	dir := folder(t, map[string]string{"a.txt": "Heliotrope turns.", "b.md": "# Heliotrope\n\nIt turns.", "c.txt": "Heliotrope\x00"})
	job := finished(t, s, dir)
	require.Equal(t, index.Done, job.State)
	rows, err := s.Query(t.Context(), `select inputs from dbos.workflow_input
		union all select output from dbos.operation_outputs union all select output from dbos.workflow_output`)
	require.NoError(t, err)
	encoded, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var journal strings.Builder
	for _, value := range encoded {
		decoded, err := base64.StdEncoding.DecodeString(value)
		require.NoError(t, err)
		journal.Write(decoded)
	}
	require.Contains(t, journal.String(), dir, "inputs were looked at")
	require.Contains(t, journal.String(), `"hash":`, "checkpoints were looked at")
	require.Contains(t, journal.String(), `"state":"done"`, "the result was looked at")
	require.NotContains(t, strings.ToLower(journal.String()), "heliotrope")
}

// F8: whoever comes second has nothing to do, and says nothing.
func TestAFinishedJobIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	made := submitted(t, s, corpus.Request{Source: folder(t, map[string]string{"a": "text"})})
	require.NoError(t, index.Abandon(t.Context(), s, made.JobID, refusal.Exhausted))
	worker(t, s)
	require.Eventually(t, func() bool {
		var state string
		err := s.QueryRow(t.Context(), `select status from dbos.workflow_status where workflow_uuid = $1`, made.WorkflowID).Scan(&state)
		return err == nil && state == "SUCCESS"
	}, patience, poll)
	job := s.Job(t, made.JobID)
	require.Equal(t, refusal.Exhausted, job.FailureCode)
	require.Zero(t, job.Items)
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)

	t.Run("OneIDIsOneJobAndOneWorkflow", func(t *testing.T) {
		t.Parallel()
		r := corpus.Request{ID: "nightly:2031-01-01", Source: "/docs"}
		first, second := submitted(t, s, r), submitted(t, s, r)
		require.True(t, first.Created)
		require.False(t, second.Created)
		require.Equal(t, first.WorkflowID, second.WorkflowID)
		var rows int
		require.NoError(t, s.QueryRow(t.Context(), `select count(*) from dbos.workflow_status where workflow_uuid = $1`, first.WorkflowID).Scan(&rows))
		require.Equal(t, 1, rows)
		_, err := corpus.Submit(t.Context(), s, nil, corpus.Request{ID: r.ID, Source: "/other"})
		require.ErrorIs(t, err, index.ErrJobExists)
	})

	t.Run("WhatNobodyCouldReadIsRefusedAtTheDoor", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]error{
			"": refusal.UnknownSource, "a\x00": refusal.UnknownSource, "https://me:secret@example.org": refusal.Forbidden, strings.Repeat("x", 2001): refusal.NameTooLong,
		} {
			_, err := corpus.Submit(t.Context(), s, nil, corpus.Request{Source: name})
			require.ErrorIs(t, err, want, name)
		}
		_, err := corpus.Submit(t.Context(), s, nil, corpus.Request{ID: "no spaces", Source: "/docs"})
		require.ErrorIs(t, err, corpus.ErrJobID)
	})

	t.Run("WithoutItsWorkflowThereIsNoJob", func(t *testing.T) {
		t.Parallel()
		_, err := corpus.Submit(t.Context(), s, closed{}, corpus.Request{ID: "lost", Source: "/docs"})
		require.ErrorIs(t, err, io.ErrClosedPipe)
		_, err = index.Status(t.Context(), s, "lost")
		require.ErrorIs(t, err, index.ErrJobUnknown)
	})
}

type closed struct{}

func (closed) Submit(context.Context, pgx.Tx, submit.Request) error { return io.ErrClosedPipe }

// A workflow that lost its last worker fails its job without running (P3).
func TestSettleExhausted(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	made := submitted(t, s, corpus.Request{Source: "/docs"})
	settle := corpus.SettleExhausted(s)
	for range 2 {
		require.NoError(t, settle(t.Context(), made.WorkflowID, corpus.Workflow))
		require.Equal(t, refusal.Exhausted, s.Job(t, made.JobID).FailureCode)
	}
	require.NoError(t, settle(t.Context(), "anything", "other.workflow"))
	require.Error(t, settle(t.Context(), "anything", corpus.Workflow))
}
