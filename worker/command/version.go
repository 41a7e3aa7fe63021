package command

import (
	"fmt"
	"io"

	"github.com/kesita/platform/worker/app"
)

type versionCommand struct{}

// built is what the command prints: app.Build.
type built struct{ app.Build }

// Run implements kong's command.
func (versionCommand) Run(s *session) error { return s.print(built{app.ReadBuild()}) }

func (b built) text(out io.Writer) { _, _ = fmt.Fprintln(out, "kesita", b.Build) }
