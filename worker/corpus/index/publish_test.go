package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
)

func TestIndexingAgainReplacesWhatChangedOnly(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	first := begun(t, db, "file:///a", "file:///b")
	for ordinal, title := range []string{"Alpha", "Beta"} {
		_, err := index.Publish(t.Context(), db, first, reading(t, db, first, ordinal, title, "common words", "of the first day"))
		require.NoError(t, err)
	}
	_, err := index.Settle(t.Context(), db, first, "", "")
	require.NoError(t, err)
	kept := number(t, db, `select document_id from corpus.document where uri = 'file:///a'`)

	second := begun(t, db, "file:///a", "file:///b")
	same, err := index.Publish(t.Context(), db, second, reading(t, db, second, 0, "Alpha", "common words", "of the first day"))
	require.NoError(t, err)
	require.False(t, same.Changed)
	require.Equal(t, 2, same.Passages)
	changed, err := index.Publish(t.Context(), db, second, reading(t, db, second, 1, "Beta", "new matter"))
	require.NoError(t, err)
	require.True(t, changed.Changed)
	job, err := index.Settle(t.Context(), db, second, "", "")
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 1, 0}, []int{job.Items, job.Indexed, job.Unchanged, job.Refused})

	require.Equal(t, kept, number(t, db, `select document_id from corpus.document where uri = 'file:///a'`), "its passages were not written again")
	require.Equal(t, []string{"Alpha"}, found(t, db, `"common words"`))
	require.Equal(t, []string{"Beta"}, found(t, db, "matter"))
	require.Equal(t, 2, number(t, db, `select revision from corpus.document where uri = 'file:///b'`))
	require.Equal(t, 3, number(t, db, `select count(*) from corpus.passage`))
}

func TestAStepThatRunsAgainPublishesOnce(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///a")
	for range 2 {
		done, err := index.Publish(t.Context(), db, fence, reading(t, db, fence, 0, "Alpha", "words"))
		require.NoError(t, err)
		require.True(t, done.Changed)
	}
	job, err := index.Settle(t.Context(), db, fence, "", "")
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 0}, []int{job.Items, job.Indexed, job.Unchanged})
	require.Equal(t, 1, number(t, db, `select revision from corpus.document`))
	require.Equal(t, 1, number(t, db, `select count(*) from corpus.passage`))
}

func TestAnOlderReadingNeverReplacesAYoungerOne(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	slow, fast := begun(t, db, "file:///a"), begun(t, db, "file:///a")
	old := reading(t, db, slow, 0, "Old", "old text")
	_, err := index.Publish(t.Context(), db, fast, reading(t, db, fast, 0, "New", "new text"))
	require.NoError(t, err)
	late, err := index.Publish(t.Context(), db, slow, old)
	require.NoError(t, err)
	require.False(t, late.Changed)
	require.Equal(t, []string{"New"}, found(t, db, "text"))
	require.Zero(t, number(t, db, `select count(*) from corpus.document where published_at is null`))
}

// long is a text of several batches.
func long(t *testing.T, db index.Database, fence index.Fence, word string) index.Document {
	t.Helper()
	var texts []string
	for i := range 2500 {
		texts = append(texts, fmt.Sprintf("%s passage %d %s", word, i, strings.Repeat("filler ", 140)))
	}
	return reading(t, db, fence, 0, "Long", texts...)
}

// K4: a document too long for one guarded transaction is seen as a whole all the same.
func TestALongDocumentIsWrittenInPartsAndSeenAsAWhole(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///a")
	_, err := index.Publish(t.Context(), db, fence, reading(t, db, fence, 0, "Long", "ancient words"))
	require.NoError(t, err)

	failing := &brittle{Pool: db, commits: 2}
	again := begun(t, db, "file:///a")
	_, err = index.Publish(t.Context(), failing, again, long(t, db, again, "modern"))
	require.ErrorIs(t, err, errBrittle)
	require.Equal(t, []string{"Long"}, found(t, db, "ancient"), "half a document replaces nothing")
	require.Empty(t, found(t, db, "modern"), "half a document is not found")
	require.Equal(t, 1, number(t, db, `select count(*) from corpus.document where published_at is null`))

	done, err := index.Publish(t.Context(), db, again, long(t, db, again, "modern"))
	require.NoError(t, err)
	require.Equal(t, 2500, done.Passages)
	require.Empty(t, found(t, db, "ancient"))
	require.Equal(t, 2500, number(t, db, `select count(*) from corpus.passage`), "the first try left nothing")
	require.Equal(t, 2499, number(t, db, `select max(ordinal) from corpus.passage`))
	require.Equal(t, 1, number(t, db, `select count(*) from corpus.document`))
}

func TestWhatWasLeftHalfDoneGoesWithTheNextPlanOrARefusal(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	for name, end := range map[string]func(fence index.Fence) error{
		"plan": func(fence index.Fence) error { return index.Plan(t.Context(), db, fence, nil) },
		"refuse": func(fence index.Fence) error {
			return index.Refuse(t.Context(), db, fence, 0, refusal.OverBudget, "")
		},
		"abandon": func(fence index.Fence) error { return index.Abandon(t.Context(), db, fence.JobID, refusal.Exhausted) },
	} {
		fence := begun(t, db, "file:///"+name)
		_, err := index.Publish(t.Context(), &brittle{Pool: db, commits: 1}, fence, long(t, db, fence, name))
		require.ErrorIs(t, err, errBrittle)
		require.Positive(t, number(t, db, `select count(*) from corpus.passage`), name)
		require.NoError(t, end(fence))
		require.Zero(t, number(t, db, `select count(*) from corpus.passage`), name)
	}
}

func TestSweepRemovesWhatTheSourceDoesNotHoldAnyMore(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	var uris []string
	for i := range 150 {
		uris = append(uris, fmt.Sprintf("file:///shelf/%03d", i))
	}
	first := begun(t, db, uris...)
	for ordinal := range uris {
		_, err := index.Publish(t.Context(), db, first, reading(t, db, first, ordinal, "Alpha", "words"))
		require.NoError(t, err)
	}
	other := begun(t, db, "file:///elsewhere")
	elsewhere := reading(t, db, other, 0, "Other", "words")
	elsewhere.Source = "file:///elsewhere"
	_, err := index.Publish(t.Context(), db, other, elsewhere)
	require.NoError(t, err)

	second := begun(t, db, uris[0], uris[1])
	require.NoError(t, index.Refuse(t.Context(), db, second, 1, refusal.Unavailable, ""), "it is still listed: its text stays")
	younger := begun(t, db, uris[2])
	_, err = index.Publish(t.Context(), db, younger, reading(t, db, younger, 0, "Young", "words"))
	require.NoError(t, err)
	batches := 1
	for more := true; more; batches++ {
		more, err = index.Sweep(t.Context(), db, second, shelf)
		require.NoError(t, err)
	}
	require.Greater(t, batches, 2)
	require.Equal(t, 147, status(t, db, second.JobID).Removed)
	require.Equal(t, 4, number(t, db, `select count(*) from corpus.document where uri = any($1) or uri = 'file:///elsewhere'`, uris[:3]))
	require.Equal(t, 4, number(t, db, `select count(*) from corpus.document`))
	require.Equal(t, 4, number(t, db, `select count(*) from corpus.passage`))
}

var errBrittle = errors.New("connection lost")

// brittle is a database that goes away after some transactions.
type brittle struct {
	*pgxpool.Pool
	commits int
}

func (b *brittle) Begin(ctx context.Context) (pgx.Tx, error) {
	if b.commits == 0 {
		return nil, errBrittle
	}
	b.commits--
	return b.Pool.Begin(ctx)
}
