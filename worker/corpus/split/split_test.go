package split_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/corpus/split"
)

func TestWhereAPassageEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		size int
		want []string
	}{
		"WholeParagraphsAreKeptTogetherWhileTheyFit": {"one two\n\nthree\n\nfour", 14, []string{"one two\n\nthree", "four"}},
		"AParagraphThatDoesNotFitBeginsAPassage":     {"one two\n\nthree four", 17, []string{"one two", "three four"}},
		"ALongParagraphIsCutAfterASentence":          {"One two. Three four! Five six?", 21, []string{"One two. Three four!", "Five six?"}},
		"ClosingMarksBelongToTheirSentence":          {`He said "go." Then he went.`, 20, []string{`He said "go."`, "Then he went."}},
		"AnAbbreviationAtWorstCutsEarly":             {"See p. 4 and so on", 12, []string{"See p.", "4 and so on"}},
		"ALongSentenceIsCutBetweenWords":             {"alpha beta gamma", 11, []string{"alpha beta", "gamma"}},
		"ALongWordIsCutBetweenCharacters":            {"ääää ö", 3, []string{"äää", "ä ö"}},
		"WideFullStopsNeedNoSpace":                   {"一二。三四。五", 5, []string{"一二。", "三四。五"}},
		"ExactlyTheSizeIsOnePassage":                 {"12345", 5, []string{"12345"}},
		"WhiteSpaceIsNoPassage":                      {" \n\n ", 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, bodies(split.Document(of(c.text), c.size)))
		})
	}
}

func TestAPassageNeverCrossesASection(t *testing.T) {
	t.Parallel()
	got := split.Document(extract.Document{Sections: []extract.Section{{Text: "a"}, {Name: "B", Text: "b c"}}}, 0)
	require.Equal(t, []split.Passage{{Body: "a"}, {Section: "B", Body: "b c"}}, got)
}

func TestNothingIsLostAndNothingIsTooLong(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "word", "ünï", "日本。", " ", "  ", "\n", "\n\n", ". ", "! ", "?) ", "...", "\"", "\u2003", strings.Repeat("x", 30)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 120).Draw(t, "pieces"), "")
		size := rapid.IntRange(1, 60).Draw(t, "size")
		holds(t, text, size)
	})
}

func FuzzDocument(f *testing.F) {
	f.Add("One. Two!\n\nThree", 5)
	f.Add("日本。語", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 || size > 1<<20 {
			size = 7
		}
		holds(t, text, size)
	})
}

// holds checks what is true of every text and every size.
func holds(t require.TestingT, text string, size int) {
	passages := split.Document(of(text), size)
	var joined strings.Builder
	longest := 0
	for _, p := range passages {
		require.NotEmpty(t, p.Body)
		require.Equal(t, strings.TrimSpace(p.Body), p.Body)
		require.LessOrEqual(t, utf8.RuneCountInString(p.Body), size)
		joined.WriteString(p.Body + "\n")
	}
	require.Equal(t, solid(text), solid(joined.String()), "every character but white space, in order")
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, utf8.RuneCountInString(word))
	}
	if longest <= size && !strings.ContainsAny(text, "。！？") {
		require.Equal(t, strings.Fields(text), strings.Fields(joined.String()), "no word is cut that fits")
	}
	require.Equal(t, passages, split.Document(of(text), size), "the same text, the same passages")
}

// A hundred thousand quotation marks must not be looked at a hundred thousand times each.
func TestTimeGrowsWithTheTextOnly(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{`"`, `." `, "\n\n", "x", "。"} {
		text := strings.Repeat(piece, 1<<20)
		require.Len(t, solid(strings.Join(bodies(split.Document(of(text), 100)), "")), len(solid(text)), "%q", piece)
	}
}

func of(text string) extract.Document {
	return extract.Document{Sections: []extract.Section{{Text: text}}}
}

func bodies(passages []split.Passage) []string {
	var all []string
	for _, p := range passages {
		all = append(all, p.Body)
	}
	return all
}

func solid(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
