package index_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/split"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

const shelf = "file:///shelf"

// begun is a running job with this plan.
func begun(t *testing.T, db index.Database, uris ...string) index.Fence {
	t.Helper()
	id := uuid.NewString()
	created, err := index.Create(t.Context(), db, id, shelf)
	require.NoError(t, err)
	require.True(t, created)
	fence, err := index.Begin(t.Context(), db, id)
	require.NoError(t, err)
	require.NoError(t, index.Plan(t.Context(), db, fence, uris))
	return fence
}

// reading is a document as read now: each text is a passage.
func reading(t *testing.T, db index.Database, fence index.Fence, ordinal int, title string, texts ...string) index.Document {
	t.Helper()
	uri, now, err := index.Item(t.Context(), db, fence, ordinal)
	require.NoError(t, err)
	d := index.Document{Ordinal: ordinal, URI: uri, Source: shelf, Title: title, ReadAt: now}
	for _, text := range texts {
		d.Passages = append(d.Passages, split.Passage{Section: title, Body: text})
	}
	return d
}

func status(t *testing.T, db index.Database, id string) index.Job {
	t.Helper()
	job, err := index.Status(t.Context(), db, id)
	require.NoError(t, err)
	return job
}

// found lists "title: first words" of the hits.
func found(t *testing.T, db index.Database, query string) []string {
	t.Helper()
	hits, err := index.Search(t.Context(), db, query, 10)
	require.NoError(t, err)
	titles := []string{}
	for _, hit := range hits {
		titles = append(titles, hit.Title)
	}
	return titles
}

func number(t *testing.T, db *pgxpool.Pool, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func TestAJobFromBeginToEnd(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///a", "file:///b", "file:///c")
	require.Equal(t, 1, fence.Attempt)

	done, err := index.Publish(t.Context(), db, fence, reading(t, db, fence, 0, "Apples", "Red apples fall.", "They rest."))
	require.NoError(t, err)
	require.True(t, done.Changed)
	require.Equal(t, 2, done.Passages)
	require.NoError(t, index.Refuse(t.Context(), db, fence, 1, refusal.Binary, "no\x00 text \xff"+strings.Repeat("x", 600)))
	running := status(t, db, fence.JobID)
	require.Equal(t, index.Running, running.State)
	require.Equal(t, []int{3, 1, 0, 1}, []int{running.Items, running.Indexed, running.Unchanged, running.Refused})
	_, err = index.Publish(t.Context(), db, fence, reading(t, db, fence, 2, "Pears", "Green pears stay."))
	require.NoError(t, err)

	job, err := index.Settle(t.Context(), db, fence, "", "")
	require.NoError(t, err)
	require.Equal(t, index.Done, job.State)
	require.NotNil(t, job.FinishedAt)
	require.Equal(t, []int{3, 2, 0, 1}, []int{job.Items, job.Indexed, job.Unchanged, job.Refused})
	require.EqualValues(t, 3, job.Passages)
	again, err := index.Settle(t.Context(), db, fence, refusal.Internal, "")
	require.NoError(t, err, "a lost checkpoint settles twice")
	require.Equal(t, job, again)

	faults, err := index.Faults(t.Context(), db, fence.JobID, 10)
	require.NoError(t, err)
	require.Len(t, faults, 1)
	require.Equal(t, refusal.Binary, faults[0].Code)
	require.Equal(t, "file:///b", faults[0].URI)
	require.True(t, strings.HasPrefix(faults[0].Detail, "no text \ufffdxxx"))
	require.Len(t, []rune(faults[0].Detail), 500)
	require.Equal(t, []string{"Apples"}, found(t, db, "fallen or fall"))
}

func TestAJobInWhichNothingIsIndexedHasFailed(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	for name, c := range map[string]struct {
		codes []refusal.Code
		given refusal.Code
		want  refusal.Code
	}{
		"ForTheOneReason":        {[]refusal.Code{refusal.Binary, refusal.Binary}, "", refusal.Binary},
		"ForMoreThanOneReason":   {[]refusal.Code{refusal.Binary, refusal.TooLarge}, "", refusal.NothingIndexed},
		"BecauseNothingWasThere": {nil, "", refusal.NothingIndexed},
		"ForTheReasonGiven":      {nil, refusal.Missing, refusal.Missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fence := begun(t, db, make([]string, len(c.codes))...)
			for ordinal, code := range c.codes {
				require.NoError(t, index.Refuse(t.Context(), db, fence, ordinal, code, "detail"))
			}
			job, err := index.Settle(t.Context(), db, fence, c.given, "detail")
			require.NoError(t, err)
			require.Equal(t, index.Failed, job.State)
			require.Equal(t, c.want, job.FailureCode)
			if len(c.codes) > 0 || c.given != "" {
				require.Equal(t, "detail", job.FailureDetail)
			}
		})
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	_, err := index.Create(t.Context(), db, "once", shelf)
	require.NoError(t, err)
	created, err := index.Create(t.Context(), db, "once", shelf)
	require.NoError(t, err)
	require.False(t, created)
	_, err = index.Create(t.Context(), db, "once", "file:///other")
	require.ErrorIs(t, err, index.ErrJobExists)
	_, err = index.Status(t.Context(), db, "never")
	require.ErrorIs(t, err, index.ErrJobUnknown)
	_, err = index.Begin(t.Context(), db, "never")
	require.ErrorIs(t, err, index.ErrJobUnknown)
	require.NoError(t, index.Abandon(t.Context(), db, "never", refusal.Exhausted))
	require.NoError(t, index.Check(t.Context(), db))
}

// F8
func TestASupersededAttemptWritesNothing(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	old := begun(t, db, "file:///a")
	draft := reading(t, db, old, 0, "Old", "old text")
	young, err := index.Begin(t.Context(), db, old.JobID)
	require.NoError(t, err)
	require.Equal(t, old.Attempt+1, young.Attempt)

	refused := map[string]error{"plan": index.Plan(t.Context(), db, old, []string{"file:///x"})}
	_, _, refused["item"] = index.Item(t.Context(), db, old, 0)
	_, refused["publish"] = index.Publish(t.Context(), db, old, draft)
	refused["refuse"] = index.Refuse(t.Context(), db, old, 0, refusal.Binary, "")
	_, refused["sweep"] = index.Sweep(t.Context(), db, old, shelf)
	_, refused["settle"] = index.Settle(t.Context(), db, old, "", "")
	for name, err := range refused {
		require.ErrorIs(t, err, index.ErrSuperseded, name)
	}
	require.Zero(t, number(t, db, `select count(*) from corpus.document`))
	require.Equal(t, 1, number(t, db, `select count(*) from corpus.item where state = 'pending'`))

	_, err = index.Publish(t.Context(), db, young, reading(t, db, young, 0, "New", "new text"))
	require.NoError(t, err)
	_, err = index.Settle(t.Context(), db, young, "", "")
	require.NoError(t, err)
	_, err = index.Begin(t.Context(), db, old.JobID)
	require.ErrorIs(t, err, index.ErrJobFinished, "a job is done once")
	require.ErrorIs(t, index.Refuse(t.Context(), db, young, 0, refusal.Binary, ""), index.ErrSuperseded, "also for the last attempt")
}

// F8: the fence is a lock and not a look. Weaken job_hold.sql to a plain select and this fails.
func TestAnAttemptCannotBeginBetweenAWriteAndItsCommit(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///a")
	writer, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = writer.Rollback(t.Context()) }()
	require.NoError(t, index.Refuse(t.Context(), writer, fence, 0, refusal.Binary, ""))

	next, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = next.Rollback(t.Context()) }()
	_, err = next.Exec(t.Context(), `set local lock_timeout = '200ms'`)
	require.NoError(t, err)
	_, err = index.Begin(t.Context(), next, fence.JobID)
	require.ErrorContains(t, err, "55P03")

	require.NoError(t, writer.Commit(t.Context()))
	young, err := index.Begin(t.Context(), db, fence.JobID)
	require.NoError(t, err)
	require.Equal(t, 2, young.Attempt)
}

// P3
func TestAnAbandonedJobHasFailedAndItsStragglerIsFenced(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///a")
	draft := reading(t, db, fence, 0, "Late", "late text")
	for range 2 {
		require.NoError(t, index.Abandon(t.Context(), db, fence.JobID, refusal.Exhausted))
	}
	job := status(t, db, fence.JobID)
	require.Equal(t, index.Failed, job.State)
	require.Equal(t, refusal.Exhausted, job.FailureCode)
	require.Equal(t, 2, job.Attempt)
	_, err := index.Publish(t.Context(), db, fence, draft)
	require.ErrorIs(t, err, index.ErrSuperseded)
}
