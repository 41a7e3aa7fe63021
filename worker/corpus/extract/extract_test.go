package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/corpus/refusal"
)

func TestPlainText(t *testing.T) {
	t.Parallel()

	t.Run("ParagraphsStayAndTheFirstLineIsTheTitle", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "  On hedges \r\n\r\n\r\nThey   grow.\tSlowly.\rVery\u00a0slowly.\n\n", "x.txt")
		require.NoError(t, err)
		require.Equal(t, extract.Document{
			Title:    "On hedges",
			Sections: []extract.Section{{Text: "On hedges\n\nThey grow. Slowly.\nVery slowly."}},
		}, got)
	})

	t.Run("ALongFirstLineLeavesTheTitleToTheFileName", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, strings.Repeat("word ", 40), "notes of may.txt")
		require.NoError(t, err)
		require.Equal(t, "notes of may", got.Title)
		got, err = extracted(t, strings.Repeat("word ", 40), "")
		require.NoError(t, err)
		require.Equal(t, "untitled", got.Title)
	})

	t.Run("NothingToIndexIsARefusal", func(t *testing.T) {
		t.Parallel()
		for name, raw := range map[string]string{"a.txt": "", "b.txt": " \n\t\u200b\u00ad"[:3], "c.md": "<!-- x -->", "d.html": "<title>t</title><script>x</script>"} {
			_, err := extracted(t, raw, name)
			require.ErrorIs(t, err, refusal.NoText, name)
		}
	})
}

func TestMarkdown(t *testing.T) {
	t.Parallel()

	t.Run("HeadingsAreSectionsAndMarksAreGone", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, strings.Join([]string{
			"Before *all* [that](http://x.example).", "", "# The `big` one", "", "## Sub", "soft", "break and  ", "hard &amp; \\*star\\*", "",
			"- one", "- two", "  - three", "", "| a | b |", "|---|---|", "| c | d |", "", "```go", "x := 1 // &amp;", "```", "",
			"> quoted ![alt](i.png) <b>bold</b><br>line", "", "Setext", "======", "", "<div>raw <script>evil()</script>html</div>", "", "<https://auto.example> ~~gone~~",
		}, "\n"), "x.md")
		require.NoError(t, err)
		require.Equal(t, extract.Document{Title: "The big one", Sections: []extract.Section{
			{Text: "Before all that."},
			{Name: "The big one", Text: "The big one"},
			{Name: "Sub", Text: "soft break and\nhard & *star*\n\none\n\ntwo\n\nthree\n\na | b\nc | d\n\nx := 1 // &amp;\n\nquoted alt bold\nline"},
			{Name: "Setext", Text: "raw html\n\nhttps://auto.example gone"},
		}}, got)
	})

	t.Run("FrontMatterGivesTheTitleAndNoText", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "---\ntitle: \"Soil: a story\"\ntags: [secret]\n---\n# Other\nBody.\n", "x.md")
		require.NoError(t, err)
		require.Equal(t, "Soil: a story", got.Title)
		require.Equal(t, []extract.Section{{Name: "Other", Text: "Body."}}, got.Sections)
	})

	t.Run("ALineOfDashesIsNoFrontMatterWithoutItsEnd", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "---\n\nBody.\n", "x.md")
		require.NoError(t, err)
		require.Equal(t, []extract.Section{{Text: "Body."}}, got.Sections)
	})

	t.Run("ALongDocumentLosesNoWordAtTheCutsBetweenItsParts", func(t *testing.T) {
		t.Parallel()
		var raw, want strings.Builder
		for i := range 20_000 {
			word := strings.Repeat(string(rune('a'+i%26)), 1+i%9)
			switch {
			case i%997 == 0:
				raw.WriteString("\n\n## " + word + "\n\n")
			case i%101 == 0:
				raw.WriteString("\n\n```\n" + word + "\n\n# " + word + "\n```\n\n")
				want.WriteString(word + " # ")
			default:
				raw.WriteString(word + " ")
			}
			want.WriteString(word + " ")
		}
		got, err := extracted(t, raw.String(), "x.md")
		require.NoError(t, err)
		require.Greater(t, raw.Len(), 64<<10)
		require.Equal(t, strings.Fields(want.String()), words(got))
	})

	t.Run("ALineWithoutAnEndIsCutBetweenCharacters", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, strings.Repeat("ÿ", 100_000), "x.md")
		require.NoError(t, err)
		require.Equal(t, 100_000, strings.Count(got.Sections[0].Text, "ÿ"))
		require.NotContains(t, got.Sections[0].Text, "\ufffd")
	})
}

func TestHTML(t *testing.T) {
	t.Parallel()

	t.Run("AWholePage", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, `<!DOCTYPE html><html><head><title> A &amp; B
			</title><style>p{}</style><script>var a = "<h1>no</h1>"</script></head><body>
			<p>Lead
			text.<p>Next<br>line<h1 id=x>Head <em>ing</em></h1><div>one<div>two</div></div>
			<h2>Empty</h2><h2><p>Wrapped</p></h2><ul><li>a<li>b</ul><table><tr><td>c<td>d</table><pre>x
  y</pre><svg><title>no</title><text>no</text></svg><template>no</template><noscript>yes</noscript></body></html>`, "x.html")
		require.NoError(t, err)
		require.Equal(t, extract.Document{Title: "A & B", Sections: []extract.Section{
			{Text: "Lead text.\n\nNext\nline"},
			{Name: "Head ing", Text: "one\n\ntwo"},
			{Name: "Empty", Text: "Empty"},
			{Name: "Wrapped", Text: "a\nb\n\nc d\n\nx\ny\n\nyes"},
		}}, got)
	})

	t.Run("WithoutATitleTheHighestFirstHeadingServes", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "<h2>Small</h2>x<h1>Big</h1>y<h1>Later</h1>z", "x.html")
		require.NoError(t, err)
		require.Equal(t, "Big", got.Title)
	})

	t.Run("BrokenMarkupLosesNoWord", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "</p></script>a<b>b<h1>c<h2>d</h1></h9><p>e</div><li>f &bogus; &#0;g <", "x.html")
		require.NoError(t, err)
		require.Equal(t, strings.Fields("a b c d e f &bogus; \ufffdg <"), strings.Fields(strings.ReplaceAll(strings.Join(words(got), " "), "ab", "a b")))
	})
}

func TestAHeadingTooLongForANameIsText(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	got, err := extracted(t, "# "+long+"\n\nbody", "x.md")
	require.NoError(t, err)
	require.Equal(t, extract.Document{Title: "x", Sections: []extract.Section{{Text: long + "\n\nbody"}}}, got)

	got, err = extracted(t, "<title>"+long+"</title>body", "x.html")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(strings.Repeat("word ", 39))+"…", got.Title)
}

func TestTheFormatComesFromTheServerThenTheNameThenTheBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, name, media, want string }{
		{"# a", "x.md", "", "a"},
		{"# a", "x.txt", "", "# a"},
		{"# a", "x", "text/markdown; charset=utf-8", "a"},
		{"<b>a</b>", "x.md", "text/html", "a"},
		{"<html>a", "x", "", "a"},
		{"<html>a", "x.txt", "", "a"},
		{"a <b>", "x", "text/plain", "a <b>"},
		{"BMW is no bitmap", "x.txt", "", "BMW is no bitmap"},
	} {
		got, err := extract.Extract(t.Context(), strings.NewReader(c.raw), extract.Hint{Name: c.name, MediaType: c.media})
		require.NoError(t, err, c)
		require.Equal(t, c.want, got.Sections[0].Text, c)
	}
}

func TestTheEndOfTheContextEndsTheWork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.md", "x.html"} {
		_, err := extract.Extract(cancelled(t), strings.NewReader("text"), extract.Hint{Name: name})
		require.ErrorIs(t, err, cancelled(t).Err(), name)
	}
}

// words are all words of a document in order, each heading before the text below it.
func words(d extract.Document) []string {
	var all []string
	for _, section := range d.Sections {
		if section.Name != section.Text {
			all = append(all, strings.Fields(section.Name)...)
		}
		all = append(all, strings.Fields(section.Text)...)
	}
	return all
}
