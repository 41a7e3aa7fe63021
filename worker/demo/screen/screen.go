// Package screen owns how a demo looks in a terminal: sections, aligned columns, marks, and one line of progress.
//
// It knows nothing of what is shown. Colours and the moving line are used only when the output is a terminal, and
// colours not with NO_COLOR set or TERM=dumb; a file or a pipe gets plain lines in the same words. It never
// fails: output that cannot be written is lost, because a demo's result does not depend on who looks.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is how a text stands out. It changes nothing where there are no colours.
type Style string

// The styles.
const (
	Plain Style = ""
	Bold  Style = "1"
	Dim   Style = "2"
	Good  Style = "32"
	Bad   Style = "1;31"
	Note  Style = "33"
)

// Cell is one text of a table.
type Cell struct {
	Text  string
	Style Style
	// Right aligns to the right, for numbers.
	Right bool
}

// Screen writes to one output. Its methods are safe for concurrent use.
type Screen struct {
	colours, moving bool

	// guards everything below
	mu  sync.Mutex
	out io.Writer
	// progress is what the moving line shows now, empty when there is none.
	progress string
}

// New returns a screen on out. environ is the process's environment.
func New(out io.Writer, environ []string) *Screen {
	file, ok := out.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd()))
	return &Screen{out: out, moving: terminal, colours: terminal && wanted(environ)}
}

// wanted follows the NO_COLOR convention: any value but the empty one switches colours off.
func wanted(environ []string) bool {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb" {
			return false
		}
	}
	return true
}

// Paint returns the text in a style, or as it is where there are no colours.
func (s *Screen) Paint(style Style, text string) string {
	if !s.colours || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Section starts a part of the output.
func (s *Screen) Section(title string) { s.write("\n" + s.Paint(Bold, title) + "\n") }

// Line writes one indented line.
func (s *Screen) Line(format string, values ...any) {
	s.write("  " + fmt.Sprintf(format, values...) + "\n")
}

// Raw writes a text as it is, with a line end.
func (s *Screen) Raw(text string) { s.write(strings.TrimRight(text, "\n") + "\n") }

const gap = "  "

// Table writes rows in aligned columns.
func (s *Screen) Table(rows [][]Cell) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(gap)
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text))
			if cell.Right {
				line.WriteString(space + s.Paint(cell.Style, cell.Text))
				continue
			}
			line.WriteString(s.Paint(cell.Style, cell.Text) + space)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	s.write(text.String())
}

const barWidth = 24

// Progress shows how far a long wait is, on the moving line of a terminal; other outputs get nothing. A total of 0 is
// unknown: only the note is shown. Done ends it.
func (s *Screen) Progress(done, total int, note string) {
	line := gap + s.Paint(Dim, note)
	if total > 0 {
		filled := barWidth * min(done, total) / total
		bar := s.Paint(Good, strings.Repeat("━", filled)) + s.Paint(Dim, strings.Repeat("─", barWidth-filled))
		line = fmt.Sprintf("%s%s %d/%d%s", gap, bar, done, total, line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.moving {
		return
	}
	s.progress = line
	_, _ = io.WriteString(s.out, "\r\x1b[2K"+s.progress)
}

// Done removes the moving line.
func (s *Screen) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != "" {
		s.progress = ""
		_, _ = io.WriteString(s.out, "\r\x1b[2K")
	}
}

// write puts text above the moving line.
func (s *Screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress == "" {
		_, _ = io.WriteString(s.out, text)
		return
	}
	_, _ = io.WriteString(s.out, "\r\x1b[2K"+text+s.progress)
}
