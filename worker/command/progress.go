package command

import (
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows how far long work is. A nil bar shows nothing.
type bar struct{ shown *progressbar.ProgressBar }

// progress starts a bar on standard error when that is a terminal, and nothing otherwise: a log or a pipe gets no
// drawings. total -1 is work of unknown length.
func (s *session) progress(what string, total int) *bar {
	file, isFile := s.err.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	b := &bar{progressbar.NewOptions(total, progressbar.OptionSetWriter(file), progressbar.OptionSetDescription(what),
		progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(true))}
	_ = b.shown.Add(0) // shows it; drawing is no work that can fail
	return b
}

// set shows done of total.
func (b *bar) set(done, total int) {
	if b == nil {
		return
	}
	b.shown.ChangeMax(total)
	_ = b.shown.Set(done) // as above
}

// tick shows that work of unknown length goes on.
func (b *bar) tick() {
	if b != nil {
		_ = b.shown.Add(1) // as above
	}
}

// finish removes the bar.
func (b *bar) finish() {
	if b != nil {
		_ = b.shown.Finish() // as above
	}
}
