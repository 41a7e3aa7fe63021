package extract_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/corpus/refusal"
)

// check is what every extracted document has to be, whatever it was made from.
func check(t require.TestingT, got extract.Document, err error) {
	if err != nil {
		_, refused := refusal.Of(err)
		require.True(t, refused, "%v", err)
		return
	}
	require.NotEmpty(t, got.Sections)
	texts := []string{got.Title}
	for _, section := range got.Sections {
		require.NotEmpty(t, section.Text)
		require.NotContains(t, section.Name, "\n")
		require.NotContains(t, section.Text, "\n\n\n")
		texts = append(texts, section.Name, section.Text)
	}
	require.NotContains(t, got.Title, "\n")
	require.NotEmpty(t, got.Title)
	for i, text := range texts {
		require.True(t, utf8.ValidString(text))
		require.True(t, norm.NFC.IsNormalString(text), "%q", text)
		require.Equal(t, strings.TrimSpace(text), text)
		for _, r := range text {
			require.False(t, unicode.IsControl(r) && r != '\n', "%q", text)
		}
		if i == 0 || got.Sections[(i-1)/2].Name == text {
			require.LessOrEqual(t, utf8.RuneCountInString(text), 200)
		}
	}
}

func names() []string { return []string{"x.txt", "x.md", "x.html", ""} }

func FuzzExtract(f *testing.F) {
	for i, raw := range []string{"# a\n\nb", "<h1>a</h1><p>b", "a\x00b", "\xff\xfea\x00", "---\ntitle: x\n---\n", "```\n# x", "e\u0301\u00ad\u0301", "|a|\n|-|\n|b|"} {
		f.Add([]byte(raw), i)
	}
	f.Fuzz(func(t *testing.T, raw []byte, i int) {
		got, err := extract.Extract(t.Context(), strings.NewReader(string(raw)), extract.Hint{Name: names()[i&3]})
		check(t, got, err)
	})
}

func TestAnyTextMadeOfMarkupComesOutClean(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"word", "  ", "\n", "\n\n", "\r\n", "# ", "## ", "```\n", "~~~\n", "> ", "- ", "1. ", "|", "|-|-|\n", "*", "_", "`", "[a](b)", "![", "<", ">", "&amp;", "&#0;",
		"<p>", "</p>", "<h1>", "</h1>", "<title>", "</title>", "<script>", "</script>", "<pre>", "<br/>", "<svg>", "<!--", "-->", "e\u0301", "\u00ad", "\u0301", "\ufeff", "\u2028", "\x1b",
		"ÿ", "日本", strings.Repeat("long", 60), "---\n", "===\n", "\\", "\t",
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
		name := rapid.SampledFrom(names()).Draw(t, "name")
		got, err := extract.Extract(t.Context(), strings.NewReader(raw), extract.Hint{Name: name})
		check(t, got, err)
		again, againErr := extract.Extract(t.Context(), strings.NewReader(raw), extract.Hint{Name: name})
		require.Equal(t, got, again, "the same bytes give the same text")
		require.Equal(t, err, againErr)
	})
}

func TestPlainWordsSurviveInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,12}`), 1, 80).Draw(t, "words")
		gap := rapid.SampledFrom([]string{" ", "\n", "\n\n", " \t", "\r\n"})
		var raw strings.Builder
		for _, word := range all {
			raw.WriteString(word + gap.Draw(t, "gap"))
		}
		for _, name := range names() {
			got, err := extract.Extract(t.Context(), strings.NewReader(raw.String()), extract.Hint{Name: name})
			require.NoError(t, err)
			require.Equal(t, all, words(got), name)
		}
	})
}
