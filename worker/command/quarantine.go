package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/explain"
	"github.com/kesita/platform/coordination/journal"
)

// quarantineCommands are about work that waits for an operator. Each works on one workflow: there is no bulk form (K10).
type quarantineCommands struct {
	List   quarantineListCommand   `cmd:"" help:"List the quarantined, parked and held workflows, the longest first."`
	Show   quarantineShowCommand   `cmd:"" help:"Show one of them with its history."`
	Retry  quarantineRetryCommand  `cmd:"" help:"Put a quarantined workflow back into its queue. It gets all its attempts again."`
	Grant  quarantineGrantCommand  `cmd:"" help:"Give an unfinished workflow its attempts back, after losses that it did not cause."`
	Unpark quarantineUnparkCommand `cmd:"" help:"Put a parked workflow back into its queue, after a worker that knows its name was deployed."`
}

type quarantineListCommand struct {
	database
	Limit int `default:"50" help:"The largest number of workflows of one database."`
}

// waiters is what list prints.
type waiters struct {
	Workflows []journal.Waits `json:"workflows"`
}

// Run implements kong's command.
func (c quarantineListCommand) Run(ctx context.Context, s *session) error {
	const what = "list quarantine"
	places, err := c.all(s)
	if err != nil {
		return failure{what: what, err: err}
	}
	found := waiters{Workflows: []journal.Waits{}}
	for _, p := range places {
		pool, err := open(ctx, p.url, nil)
		if err != nil {
			return failure{what: what, err: err}
		}
		list, err := journal.Waiters(ctx, pool, c.Limit)
		pool.Close()
		if err != nil {
			return failure{what: what, err: err}
		}
		found.Workflows = append(found.Workflows, list...)
	}
	return s.print(found)
}

func (w waiters) text(out io.Writer) {
	if len(w.Workflows) == 0 {
		_, _ = fmt.Fprintln(out, "no workflow waits for an operator")
		return
	}
	_, _ = fmt.Fprintln(out, "WORKFLOW\tKIND\tNAME\tQUEUE\tATTEMPTS\tREASON\tSINCE\tSETTLED")
	for _, one := range w.Workflows {
		settled := "-"
		switch {
		case one.SettledAt != nil:
			settled = "yes"
		case one.SettleFailures > 0:
			settled = fmt.Sprintf("failed %d times", one.SettleFailures)
		case one.Kind == "quarantined":
			settled = "not yet"
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", printable(one.WorkflowID), one.Kind, printable(one.Name), printable(one.Queue),
			one.Attempts, one.Reason, one.Since.UTC().Format(time.RFC3339), settled)
	}
}

type quarantineShowCommand struct {
	database
	ID string `arg:"" name:"workflow-id" help:"ID of the workflow."`
}

// Run implements kong's command.
func (c quarantineShowCommand) Run(ctx context.Context, s *session) error {
	const what = "show quarantined workflow"
	places, err := c.all(s)
	if err != nil {
		return failure{what: what, err: err}
	}
	for _, p := range places {
		e, err := explainIn(ctx, p.url, c.ID)
		switch {
		case err != nil:
			return failure{what: what, err: err}
		case e.Cause == explain.Quarantined, e.Cause == explain.Parked, e.Cause == explain.HeldSuspect:
			return s.print(explained{e})
		case e.Cause != explain.NotFound:
			return refused(what, fmt.Errorf("it is neither quarantined, parked nor held: %s", e.Cause))
		}
	}
	return refused(what, errors.New("there is no such workflow"))
}

// acted is what the commands that change one workflow print.
type acted struct {
	WorkflowID string `json:"workflow_id"`
	// Action is retried, granted or unparked.
	Action string `json:"action"`
	// AttemptsBefore and AttemptsAfter count the attempts that it had used and that it has used now, of MaxAttempts.
	AttemptsBefore int64  `json:"attempts_before"`
	AttemptsAfter  int64  `json:"attempts_after"`
	MaxAttempts    int64  `json:"max_attempts"`
	Queue          string `json:"queue"`
}

func (a acted) text(out io.Writer) {
	_, _ = fmt.Fprintf(out, "workflow\t%s\naction\t%s\nattempts\t%d of %d, before %d\nqueue\t%s\n",
		printable(a.WorkflowID), a.Action, a.AttemptsAfter, a.MaxAttempts, a.AttemptsBefore, printable(a.Queue))
}

type quarantineRetryCommand struct {
	operated
	Yes bool   `help:"Yes, the cause was repaired."`
	ID  string `arg:"" name:"workflow-id" help:"ID of the quarantined workflow."`
}

// Run implements kong's command.
func (c quarantineRetryCommand) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, "retry workflow", c.ID, "retried", func(ctx context.Context, o journal.Operator, e explain.Explanation) (bool, error) {
		if e.Cause == explain.Quarantined && !c.Yes {
			return false, refusal(fmt.Sprintf("a retry resets the protection: it gets %d attempts again, and %s. When the cause was repaired, add --yes",
				e.MaxAttempts, e.Why))
		}
		done, err := o.Retry(ctx, c.ID)
		if errors.Is(err, journal.ErrDuplicate) {
			return false, refusal(journal.ErrDuplicate.Error() + ": wait until that one is over")
		}
		return done, err
	})
}

type quarantineGrantCommand struct {
	operated
	ID string `arg:"" name:"workflow-id" help:"ID of an unfinished workflow."`
}

// Run implements kong's command.
func (c quarantineGrantCommand) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, "grant attempts", c.ID, "granted", func(ctx context.Context, o journal.Operator, _ explain.Explanation) (bool, error) {
		before, err := o.Grant(ctx, c.ID)
		return before != nil, err
	})
}

type quarantineUnparkCommand struct {
	operated
	ID string `arg:"" name:"workflow-id" help:"ID of the parked workflow."`
}

// Run implements kong's command.
func (c quarantineUnparkCommand) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, "unpark workflow", c.ID, "unparked", func(ctx context.Context, o journal.Operator, _ explain.Explanation) (bool, error) {
		return o.Unpark(ctx, c.ID)
	})
}

// refusal is why a change was not made.
type refusal string

func (r refusal) Error() string { return string(r) }

// change makes one change to one workflow and shows the attempts before and after. deed returns false when the
// workflow is not of the kind that it changes.
func (o operated) change(ctx context.Context, s *session, what, id, action string,
	deed func(ctx context.Context, o journal.Operator, e explain.Explanation) (bool, error),
) error {
	pool, err := o.open(ctx, s, what)
	if err != nil {
		return err
	}
	defer pool.Close()
	before, err := explain.Workflow(ctx, pool, id)
	if err != nil {
		return failure{what: what, err: err}
	}
	done, err := deed(ctx, journal.NewOperator(pool), before)
	var no refusal
	switch {
	case errors.As(err, &no):
		return refused(what, no)
	case err != nil:
		return failure{what: what, err: err}
	case before.Cause == explain.NotFound:
		return refused(what, errors.New("there is no such workflow"))
	case !done:
		return refused(what, fmt.Errorf("not possible now: %s, %s", before.Cause, before.Why))
	}
	return tellChange(ctx, s, pool, what, action, before)
}

func tellChange(ctx context.Context, s *session, pool *pgxpool.Pool, what, action string, before explain.Explanation) error {
	after, err := explain.Workflow(ctx, pool, before.WorkflowID)
	if err != nil {
		return failure{what, fmt.Errorf("%s, but its new state could not be read: %w", action, err), boot.ExitUnavailable}
	}
	return s.print(acted{before.WorkflowID, action, before.Attempts, after.Attempts, after.MaxAttempts, after.Queue})
}
