package demo

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/settings"
)

// Options are what a user chooses. The zero value, with Program and the writers set, is the default demo.
type Options struct {
	// Docs is a folder with documents; empty stands for the texts that ship with the demo.
	Docs string
	// Timing is a profile as in the environment of a worker: demo (a tenth of production), production, or a factor.
	// Empty means demo.
	Timing string
	// Keep leaves everything running after the run, until the context ends.
	Keep bool
	// JSON writes one document to Stdout at the end; what people read goes to Stderr then.
	JSON bool
	// Logs is a folder for the logs; they stay there. Empty: a temporary folder, which stays only when a rule failed.
	Logs string
	// Program is how this program is started: the demo's processes are itself, with "worker product",
	// "worker corpus" or "provider" and its options as arguments.
	Program []string
	// Environ is the process's environment.
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer

	// afterSettled changes the facts before they are read: tests of this package break rules with it.
	afterSettled func(*run) error
}

// errUsage marks what the user can correct.
var errUsage = errors.New("wrong use")

// parseTiming reads a profile the way that the workers will.
func parseTiming(profile string) (timing.Timing, error) {
	loaded, err := settings.Load([]string{"DATABASE_URL=postgres://localhost/demo", "TIMING=" + profile})
	var faults settings.Faults
	switch {
	case errors.As(err, &faults):
		return timing.Timing{}, fmt.Errorf("%w: %s", errUsage, faults[0])
	case err != nil:
		return timing.Timing{}, err
	}
	return loaded.Timing, nil
}

// pace is what of the demo itself takes time. All of it follows from the profile, so that one factor scales the
// whole run.
type pace struct {
	timing.Timing
	// effort is how long the web server and the provider take for one answer.
	effort time.Duration
	// look is the pause between two looks at databases, logs and health.
	look time.Duration
	// start bounds the start of all processes, settle the work after the kill, stop the orderly end of a process.
	start, stop time.Duration
}

func paceOf(t timing.Timing) pace {
	production := timing.Production()
	return pace{
		Timing: t,
		effort: 2 * t.Scan,
		// What a machine can do does not scale.
		look:  production.QueuePoll / 100,
		start: production.StepSettle,
		stop:  min(t.Shutdown, production.ForcedExit),
	}
}

// settle bounds the wait for n documents after a replica was killed: several takeovers, and all work in a row.
func (p pace) settle(n int) time.Duration {
	return 4*p.TakeoverBound() + time.Duration(2*n)*p.effort + p.start
}

// inherited is the part of the environment that processes need whatever they do.
func inherited(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "TZ", "LANG", "GOCOVERDIR", "GORACE":
			kept = append(kept, entry)
		}
	}
	return kept
}
