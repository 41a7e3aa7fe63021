package index_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/split"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	db := corpustest.Open(t)
	fence := begun(t, db, "file:///tea", "file:///bread")
	tea := reading(t, db, fence, 0, "On tea")
	tea.Passages = []split.Passage{
		{Section: "Brewing", Body: "Boiling water\nopens the leaves. Wait three minutes."},
		{Section: "Storing", Body: "Keep the leaves dry & <dark>."},
	}
	bread := reading(t, db, fence, 1, "On bread", "Water and flour rest overnight. Baking takes an hour.")
	for _, d := range []index.Document{tea, bread} {
		_, err := index.Publish(t.Context(), db, fence, d)
		require.NoError(t, err)
	}

	t.Run("AHitSaysWhereItIsAndMarksTheWords", func(t *testing.T) {
		t.Parallel()
		hits, err := index.Search(t.Context(), db, "boil leave", 5)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		require.Positive(t, hits[0].Rank)
		hits[0].Rank = 0
		require.Equal(t, index.Hit{
			Title: "On tea", URI: "file:///tea", Section: "Brewing", Ordinal: 0,
			Snippet: "«Boiling» water opens the «leaves». Wait three minutes",
		}, hits[0])
	})

	t.Run("TheQueryIsThatOfAWebSearch", func(t *testing.T) {
		t.Parallel()
		require.ElementsMatch(t, []string{"On tea", "On bread"}, found(t, db, "water"))
		require.Equal(t, []string{"On tea"}, found(t, db, "water -flour"))
		require.Equal(t, []string{"On bread"}, found(t, db, `"flour rest"`))
		require.Empty(t, found(t, db, `"rest flour"`))
		require.ElementsMatch(t, []string{"On tea", "On bread"}, found(t, db, "flour or boiling"))
		require.Empty(t, found(t, db, "granite"))
	})

	t.Run("TitlesAndSectionsAreFoundAndWeighMore", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{"On bread"}, found(t, db, "bread"))
		require.Equal(t, []string{"On tea"}, found(t, db, "storing"))
	})

	t.Run("TheLimitHolds", func(t *testing.T) {
		t.Parallel()
		for limit, want := range map[int]int{-1: 1, 1: 1, 2: 2, 1000: 2} {
			hits, err := index.Search(t.Context(), db, "leaves", limit)
			require.NoError(t, err)
			require.Len(t, hits, want, limit)
		}
	})

	t.Run("AQueryWithoutWordsIsSaidToBeOne", func(t *testing.T) {
		t.Parallel()
		for _, query := range []string{"", "  ", "the and of", `"`, "-", "\x00", "\xff"} {
			_, err := index.Search(t.Context(), db, query, 5)
			require.ErrorIs(t, err, index.ErrNoWords, "%q", query)
		}
		_, err := index.Search(t.Context(), db, strings.Repeat("word ", 100_000)+"';drop table corpus.job", 5)
		require.NoError(t, err)
	})
}
