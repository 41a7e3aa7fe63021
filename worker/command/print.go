package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// result is what a command found: its exported fields are the JSON document, text is for people.
type result interface {
	text(out io.Writer)
}

// print writes the result in the form that was asked for.
func (s *session) print(r result) error {
	if s.json {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	r.text(out)
	return out.Flush()
}

// printable replaces control characters: text from a database must not command the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, text)
}

// age writes how long ago something was, in the largest unit that is not below one.
func age(d time.Duration) string {
	switch {
	case d.Seconds() < 60:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d.Minutes() < 60:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d.Hours() < 48:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
}
