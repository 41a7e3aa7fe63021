package extract

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const harbour = `# The harbour

The harbour closes when the wind is above nine. Ships wait outside the harbour until the wind falls. Mr. Kaya keeps the log.

Coffee is served at ten. The wind at the harbour is measured on the tower every minute, e.g. at 10.15. Nobody likes the tea.
`

func TestSummary(t *testing.T) {
	t.Parallel()

	t.Run("AbbreviationsAndNumbersDoNotEndASentence", func(t *testing.T) {
		t.Parallel()
		var texts []string
		for _, s := range split(harbour) {
			texts = append(texts, s.text)
		}
		require.Equal(t, []string{
			"The harbour closes when the wind is above nine.",
			"Ships wait outside the harbour until the wind falls.",
			"Mr. Kaya keeps the log.",
			"Coffee is served at ten.",
			"The wind at the harbour is measured on the tower every minute, e.g. at 10.15.",
			"Nobody likes the tea.",
		}, texts)
	})

	t.Run("FrequentWordsWinAndTheOrderOfTheTextIsKept", func(t *testing.T) {
		t.Parallel()
		summary, sentences := Summary(harbour, 2)
		require.Equal(t, 2, sentences)
		require.Equal(t, "The harbour closes when the wind is above nine. "+
			"The wind at the harbour is measured on the tower every minute, e.g. at 10.15.", summary)
	})

	t.Run("OfEqualSentencesTheFirstOfAParagraphWins", func(t *testing.T) {
		t.Parallel()
		text := "Red lamps burn bright tonight somewhere.\n\nBlue lamps burn bright tonight somewhere. Grey lamps burn bright tonight somewhere.\n"
		summary, _ := Summary(text, 1)
		require.Equal(t, "Red lamps burn bright tonight somewhere.", summary)
		_, after, _ := strings.Cut(text, "\n\n")
		summary, _ = Summary(after, 1)
		require.Equal(t, "Blue lamps burn bright tonight somewhere.", summary)
	})

	t.Run("OneRepeatedSentenceDoesNotFillTheExtract", func(t *testing.T) {
		t.Parallel()
		text := strings.Repeat("The bridge carries the road across the river. ", 5) + "Tolls pay for the repair of the piers each spring."
		summary, _ := Summary(text, 2)
		require.Contains(t, summary, "Tolls pay")
	})

	t.Run("OtherScriptsAreCutAtTheirOwnFullStop", func(t *testing.T) {
		t.Parallel()
		_, sentences := Summary("東京は大きい。大阪も大きい。", 5)
		require.Equal(t, 2, sentences)
	})

	t.Run("TextWithoutFullStopIsCutToSize", func(t *testing.T) {
		t.Parallel()
		summary, sentences := Summary(strings.Repeat("column value ", 5000), 1)
		require.Equal(t, 1, sentences)
		require.LessOrEqual(t, utf8.RuneCountInString(summary), maxSentenceRunes)
	})

	t.Run("TextWithoutWordsGivesNothing", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"", " \n\t ", "... !!! ---", "# only a heading", "the of and."} {
			summary, sentences := Summary(text, 3)
			require.Empty(t, summary, text)
			require.Zero(t, sentences, text)
		}
	})
}

// Whatever the text, an extract is stable, within its limit, and made of the
// text's own words only.
func TestSummaryIsDeterministicBoundedAndExtractive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab cde. F\nG!é 。?#"))).Draw(t, "text")
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		summary, sentences := Summary(text, limit)
		again, _ := Summary(text, limit)
		require.Equal(t, summary, again)
		require.LessOrEqual(t, sentences, limit)
		flat := strings.Join(strings.Fields(text), " ")
		for word := range strings.FieldsSeq(summary) {
			require.Contains(t, flat, word)
		}
	})
}
