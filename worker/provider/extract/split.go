package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSentenceRunes bounds one sentence: a text without any full stop (a table,
// a list, a minified file) must not come back whole as its own summary.
const maxSentenceRunes = 600

// sentence is one unit of the text with what scoring needs.
type sentence struct {
	text  string
	words []string // content words, lower case, in order
	place int      // 0 for the first sentence of a paragraph
	lead  bool     // first sentence of the text
}

// split cuts text into paragraphs at blank lines and into sentences at final
// punctuation. Pieces without a content word are dropped.
func split(text string) []sentence {
	var sentences []sentence
	for _, paragraph := range paragraphs(text) {
		place := 0
		for _, piece := range pieces(paragraph) {
			words := contentWords(piece)
			if len(words) == 0 {
				continue
			}
			sentences = append(sentences, sentence{text: piece, words: words, place: place, lead: len(sentences) == 0})
			place++
		}
	}
	return sentences
}

// paragraphs joins the lines between blank lines with single spaces. Markdown
// headings and rules are not prose: they end a paragraph and are left out.
func paragraphs(text string) []string {
	var result []string
	var current []string
	flush := func() {
		if len(current) > 0 {
			result = append(result, strings.Join(current, " "))
			current = current[:0]
		}
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			flush()
			continue
		}
		current = append(current, strings.Join(fields, " "))
	}
	flush()
	return result
}

// pieces cuts a paragraph into sentences of at most maxSentenceRunes.
func pieces(paragraph string) []string {
	var result []string
	start, runes, space := 0, 0, -1
	cut := func(end int) {
		if piece := strings.TrimSpace(paragraph[start:end]); piece != "" {
			result = append(result, piece)
		}
		start, runes, space = end, 0, -1
	}
	for i, r := range paragraph {
		if r == ' ' {
			space = i
		}
		if runes++; runes > maxSentenceRunes {
			if space > start {
				i = space
			}
			cut(i)
			continue
		}
		if end := i + utf8.RuneLen(r); isFinal(r) && endsHere(paragraph, start, i, end) {
			cut(end)
		}
	}
	cut(len(paragraph))
	return result
}

func isFinal(r rune) bool {
	return strings.ContainsRune(".!?…。！？", r)
}

// endsHere decides whether the final mark at [mark,end) ends a sentence: what
// follows must be the end, or a space and then no lower-case letter, and the
// word before must not be an abbreviation.
func endsHere(paragraph string, start, mark, end int) bool {
	rest := paragraph[end:]
	if paragraph[mark] >= utf8.RuneSelf || rest == "" {
		return true
	}
	if rest[0] != ' ' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[1:])
	if unicode.IsLower(next) {
		return false
	}
	return paragraph[mark] != '.' || !isAbbreviation(paragraph[start:mark])
}

// isAbbreviation looks at the last word before a full stop.
func isAbbreviation(before string) bool {
	word := strings.ToLower(strings.Trim(before[strings.LastIndexByte(before, ' ')+1:], `("'`))
	switch word {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "fig", "art", "sec", "e.g", "i.e", "cf", "approx":
		return true
	}
	first, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsLetter(first) // an initial, as in "J. Smith"
}

// contentWords returns the words that carry meaning, in lower case.
func contentWords(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	words := fields[:0]
	for _, field := range fields {
		if !isStopWord(field) {
			words = append(words, field)
		}
	}
	return words
}

// isStopWord is true for the commonest English words, which say nothing about
// the subject of a text.
func isStopWord(word string) bool {
	switch word {
	case "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before",
		"but", "by", "can", "could", "did", "do", "does", "each", "for", "from", "had", "has", "have", "he", "her", "his",
		"how", "i", "if", "in", "into", "is", "it", "its", "may", "more", "most", "must", "no", "not", "of", "on", "one",
		"only", "or", "other", "our", "over", "s", "shall", "she", "should", "so", "some", "such", "t", "than", "that",
		"the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "under", "up", "was", "we",
		"were", "what", "when", "which", "who", "will", "with", "would", "you", "your":
		return true
	}
	return false
}
