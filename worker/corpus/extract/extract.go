// Package extract owns the step from a document's bytes to plain text: which format it is, which encoding, what
// its title and its headings are.
//
// The bytes are authoritative over names and media types: what looks like text is text, what does not is refused.
// The text that comes out is valid UTF-8 in NFC, with no control character but the line feed (PostgreSQL stores no
// NUL, and a snippet may reach a terminal), paragraphs apart by one empty line. Scripts, styles, comments, attributes
// and front matter are dropped; every other word of the document is kept, in order.
//
// Time and memory grow with the size of the document and not faster, also for hostile input. Its answer to failure is a
// refusal.Code. It must not know where a document came from or where its text goes.
package extract

import (
	"context"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/kesita/platform/worker/corpus/refusal"
)

const (
	// maxName is the longest title or section name in characters. A longer heading is a paragraph.
	maxName = 200
	// maxFirstLine is the longest first line of a plain text that is taken for its title, in characters.
	maxFirstLine = 120
)

// Document is what one file says.
type Document struct {
	// Title is never empty and one line of at most 200 characters.
	Title string
	// Sections are in the order of the document; there is at least one.
	Sections []Section
}

// Section is the text below one heading.
type Section struct {
	// Name is the heading, empty for text before the first one. One line of at most 200 characters.
	Name string
	// Text is never empty: a heading with nothing below it is its own text. Paragraphs are apart by "\n\n".
	Text string
}

// Hint is what is known about a document besides its bytes. Both may be empty.
type Hint struct {
	// Name is the last part of its path, with the extension.
	Name string
	// MediaType is a Content-Type, with parameters.
	MediaType string
}

// Extract reads r to its end. Errors: refusal.Binary, refusal.Unsupported, refusal.NoText, r's own, ctx's.
func Extract(ctx context.Context, r io.Reader, hint Hint) (Document, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return Document{}, err
	}
	kind, err := detect(raw, hint)
	if err != nil {
		return Document{}, err
	}
	text, err := decode(raw, kind, hint.MediaType)
	if err != nil {
		return Document{}, err
	}
	out := &builder{}
	switch kind {
	case markdown:
		err = readMarkdown(ctx, out, text)
	case markup:
		err = readHTML(ctx, out, text)
	default:
		readPlain(out, text)
	}
	if err != nil {
		return Document{}, err
	}
	return out.document(hint.Name)
}

// builder collects a document's text in order.
type builder struct {
	title    string // said by the document itself, apart from its text
	heading  string // the first heading
	top      int    // the level of that heading
	sections []Section
	name     string
	text     strings.Builder
}

// headed starts a section. A heading that is too long to be a name is text.
func (b *builder) headed(level int, heading string) {
	heading = oneLine(heading)
	if heading == "" {
		return
	}
	if utf8.RuneCountInString(heading) > maxName {
		b.paragraph(heading)
		return
	}
	b.close()
	b.name = heading
	if b.heading == "" || level < b.top {
		b.heading, b.top = heading, level
	}
}

// paragraph adds text that stands alone.
func (b *builder) paragraph(text string) {
	text = tidy(text)
	if text == "" {
		return
	}
	if b.text.Len() > 0 {
		b.text.WriteString("\n\n")
	}
	b.text.WriteString(text)
}

func (b *builder) close() {
	if b.text.Len() == 0 && b.name != "" {
		b.text.WriteString(b.name)
	}
	if b.text.Len() > 0 {
		b.sections = append(b.sections, Section{Name: b.name, Text: b.text.String()})
	}
	b.name = ""
	b.text.Reset()
}

func (b *builder) document(name string) (Document, error) {
	b.close()
	if len(b.sections) == 0 {
		return Document{}, refusal.NoText
	}
	fallback := oneLine(strings.TrimSuffix(name, path.Ext(name)))
	for _, title := range []string{oneLine(b.title), b.heading, fallback} {
		if title != "" {
			return Document{Title: cut(title), Sections: b.sections}, nil
		}
	}
	return Document{Title: "untitled", Sections: b.sections}, nil
}

// readPlain takes the first line for the title when it stands alone or is short.
func readPlain(out *builder, text string) {
	out.paragraph(text)
	first, _, _ := strings.Cut(out.text.String(), "\n")
	if utf8.RuneCountInString(first) <= maxFirstLine {
		out.title = first
	}
}

// cut shortens a title at the end of a word.
func cut(title string) string {
	if utf8.RuneCountInString(title) <= maxName {
		return title
	}
	short := string([]rune(title)[:maxName-1])
	if space := strings.LastIndexByte(short, ' '); space > 0 {
		short = short[:space]
	}
	return short + "…"
}
