package extract

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// tidy brings text into the one form that is stored: NFC, line feeds only, no control characters, single spaces, no
// space at the ends of lines, at most one empty line in a row.
func tidy(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	lines, spaces := 0, false
	for _, r := range text {
		switch {
		case r == '\n', r == '\u2028', r == '\u2029', r == '\v', r == '\f', r == '\u0085':
			lines++
		case unicode.IsSpace(r):
			spaces = true
		case dropped(r):
		default:
			if out.Len() > 0 {
				gap(&out, lines, spaces)
			}
			lines, spaces = 0, false
			out.WriteRune(r)
		}
	}
	return norm.NFC.String(out.String()) // last: what was between a letter and its accent may be gone now
}

func gap(out *strings.Builder, lines int, spaces bool) {
	switch {
	case lines > 1:
		out.WriteString("\n\n")
	case lines == 1:
		out.WriteByte('\n')
	case spaces:
		out.WriteByte(' ')
	}
}

// dropped says which characters carry no text: control characters, byte order marks, soft hyphens, non-characters.
func dropped(r rune) bool {
	return unicode.IsControl(r) || r == '\ufeff' || r == '\u00ad' || (r >= 0xfdd0 && r <= 0xfdef) || r&0xfffe == 0xfffe
}

// oneLine is tidy for names.
func oneLine(text string) string { return strings.Join(strings.Fields(tidy(text)), " ") }
