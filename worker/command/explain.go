package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/explain"
	"github.com/kesita/platform/coordination/journal"
)

type explainCommand struct {
	database
	ID string `arg:"" name:"workflow-id" help:"ID of the workflow. All databases that are set are searched."`
}

// explained is what the command prints: explain.Explanation.
type explained struct{ explain.Explanation }

// Run implements kong's command.
func (c explainCommand) Run(ctx context.Context, s *session) error {
	const what = "explain workflow"
	places, err := c.all(s)
	if err != nil {
		return failure{what: what, err: err}
	}
	var answer explain.Explanation
	for _, p := range places {
		if answer, err = explainIn(ctx, p.url, c.ID); err != nil {
			return failure{what: what, err: err}
		}
		if answer.Cause != explain.NotFound {
			return s.print(explained{answer})
		}
	}
	if err := s.print(explained{answer}); err != nil {
		return err
	}
	return exitStatus(boot.ExitUsage)
}

func explainIn(ctx context.Context, url, id string) (explain.Explanation, error) {
	pool, err := open(ctx, url, nil)
	if err != nil {
		return explain.Explanation{}, err
	}
	defer pool.Close()
	return explain.Workflow(ctx, pool, id)
}

func (e explained) text(out io.Writer) {
	line := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "%s\t%s\n", name, printable(fmt.Sprintf(format, values...)))
	}
	line("workflow", "%s", e.WorkflowID)
	if e.Cause != explain.NotFound {
		e.standing(line)
	}
	line("cause", "%s", e.Cause)
	line("why", "%s", e.Why)
	if e.Until != nil {
		line("until", "%s", e.when(*e.Until))
	}
	line("move", "%s", e.Move)
	if e.Command != "" {
		line("command", "%s", e.Command)
	}
	e.history(out)
}

// standing is where the workflow is.
func (e explained) standing(line func(name, format string, values ...any)) {
	line("name", "%s (%s, %s)", e.Name, e.Application, e.Version)
	place := ""
	if e.Queue != "" {
		place = ", queue " + e.Queue + fmt.Sprintf(", priority %d", e.Priority)
	}
	if e.Partition != "" {
		place += ", partition " + e.Partition
	}
	line("state", "%s%s", e.State, place)
	if e.ExecutorID != "" {
		line("owner", "%s, %s", e.ExecutorID, e.Lease)
	}
	taken := ""
	if e.TakenBack > 0 {
		taken = fmt.Sprintf(", %d more were taken back after orderly stops", e.TakenBack)
	}
	line("attempts", "%d of %d%s", e.Attempts, e.MaxAttempts, taken)
	line("checkpoints", "%d", e.Checkpoints)
	line("submitted", "%s", e.when(*e.SubmittedAt))
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"claimed", e.ClaimedAt}, {"finished", e.FinishedAt}, {"deadline", e.Deadline}} {
		if t.at != nil {
			line(t.name, "%s", e.when(*t.at))
		}
	}
	if e.ParentID != "" {
		line("parent", "%s", e.ParentID)
	}
}

// when is a time as seen from the moment of the look.
func (e explained) when(t time.Time) string {
	if d := e.Now.Sub(t); d >= 0 {
		return age(d) + " ago"
	}
	return "in " + age(t.Sub(e.Now))
}

func (e explained) history(out io.Writer) {
	if len(e.Takeovers) > 0 {
		_, _ = fmt.Fprintln(out, "\nHAPPENED\tWHAT\tBECAUSE\tOF EXECUTOR\tATTEMPTS\tCHECKPOINTS")
	}
	for _, t := range e.Takeovers {
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%d\n", e.when(t.HappenedAt), t.Action, t.Cause, whose(t), t.Attempts, t.Checkpoints)
	}
	if len(e.Steps) > 0 {
		_, _ = fmt.Fprintln(out, "\nSTEP\tNAME\tENDED")
	}
	for _, step := range e.Steps {
		_, _ = fmt.Fprintf(out, "%d\t%s\t%s\n", step.Number, printable(step.Name), e.when(step.CompletedAt))
	}
}

// whose is the executor that was lost; an operator's deed names none.
func whose(t journal.Takeover) string {
	if text := t.LostExecutor.String(); strings.Trim(text, "0-") != "" {
		return text
	}
	return "-"
}
