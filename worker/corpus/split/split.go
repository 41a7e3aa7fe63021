// Package split owns where a document is cut into passages, the unit of search.
//
// A passage never crosses a section. It holds as many whole paragraphs as fit; a paragraph that does not fit is cut
// after a sentence, a sentence that does not fit between words, a word that does not fit between characters. Passages do not
// overlap, and nothing but white space at the cuts is lost. The same document gives the same passages, so that indexing it again
// changes nothing.
//
// It knows neither formats nor tables, and it cannot fail.
package split

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kesita/platform/worker/corpus/extract"
)

// DefaultSize is the longest passage in characters, unless configured otherwise: some 200 words, a thought or two.
const DefaultSize = 1200

// Passage is one piece of a document.
type Passage struct {
	// Section is the name of the section it stands in; it may be empty.
	Section string
	// Body is at most size characters, never empty, without white space around it.
	Body string
}

// Document cuts a document into passages of at most size characters, in order. A size below 1 means DefaultSize.
func Document(document extract.Document, size int) []Passage {
	if size < 1 {
		size = DefaultSize
	}
	var passages []Passage
	for _, section := range document.Sections {
		for _, body := range pack(section.Text, size) {
			passages = append(passages, Passage{Section: section.Name, Body: body})
		}
	}
	return passages
}

// pack cuts one section. Its pieces are parts of text, not copies.
func pack(text string, size int) []string {
	var pieces []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := pieceEnd(text, size)
		pieces = append(pieces, strings.TrimSpace(text[:end]))
		text = text[end:]
	}
	return pieces
}

// pieceEnd is where the first piece of text ends, in bytes: at the best kind of cut that lies within size characters.
// Each character is looked at a bounded number of times, however the text is made.
func pieceEnd(text string, size int) int {
	var paragraph, sentence, word int
	count, at := 0, 0
	for at < len(text) {
		r, width := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			// A cut here ends the piece before the space, so the space need not fit.
			switch {
			case strings.HasPrefix(text[at:], "\n\n"):
				paragraph = at
			case endsSentence(text[:at]):
				sentence = at
			}
			word = at
		} else if at > 0 && endsWide(text[:at]) {
			sentence = at // no space follows a full stop in Chinese and Japanese
		}
		if count == size {
			break
		}
		count, at = count+1, at+width
	}
	if at == len(text) {
		return at
	}
	for _, end := range []int{paragraph, sentence, word} {
		if end > 0 {
			return end
		}
	}
	return at
}

// endsSentence reports a full stop, possibly with closing marks behind it.
func endsSentence(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(trimClosing(text))
	return strings.ContainsRune(".!?…。！？", r)
}

func endsWide(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(trimClosing(text))
	return strings.ContainsRune("。！？", r)
}

// trimClosing takes off at most four closing marks: enough for prose, and a bound for the rest.
func trimClosing(text string) string {
	for range 4 {
		r, width := utf8.DecodeLastRuneInString(text)
		if !strings.ContainsRune(`"')]}»”’」』）`, r) {
			break
		}
		text = text[:len(text)-width]
	}
	return text
}
