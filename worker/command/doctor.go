package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kesita/platform/coordination/doctor"
	"github.com/kesita/platform/worker/settings"
)

// Statuses of doctor, beside those of a fault.
const (
	exitWarnings = 1
	exitErrors   = 2
)

const workerVariable = "WORKER_DATABASE_URL"

type doctorCommand struct {
	database
	WorkerURL  string        `placeholder:"URL" help:"The same database with a worker's login: the fence is then proven by trying. Default: PRODUCT_WORKER_DATABASE_URL or CORPUS_WORKER_DATABASE_URL, else WORKER_DATABASE_URL."`
	StuckAfter time.Duration `placeholder:"DURATION" help:"How long a workflow of a living worker may go without a recorded step. Default: the budget of a step."`
}

// reports are what the command prints.
type reports struct {
	Databases []doctor.Report `json:"databases"`
}

// Run implements kong's command.
func (c doctorCommand) Run(ctx context.Context, s *session) error {
	const what = "doctor"
	places, err := c.all(s)
	if err != nil {
		return failure{what: what, err: err}
	}
	found := reports{Databases: []doctor.Report{}}
	worst := doctor.OK
	for _, p := range places {
		report, err := c.examine(ctx, s, p)
		if err != nil {
			return failure{what: what, err: err}
		}
		found.Databases = append(found.Databases, report)
		if w := report.Worst(); w == doctor.Error || worst == doctor.OK {
			worst = w
		}
	}
	if err := s.print(found); err != nil {
		return err
	}
	switch worst {
	case doctor.Error:
		return exitStatus(exitErrors)
	case doctor.Warning:
		return exitStatus(exitWarnings)
	case doctor.OK:
	}
	return nil
}

func (c doctorCommand) examine(ctx context.Context, s *session, p located) (doctor.Report, error) {
	worker := cmp.Or(c.WorkerURL, s.environ[p.target.prefix()+workerVariable], s.environ[workerVariable])
	if worker != "" {
		if err := settings.CheckDatabase(worker); err != nil {
			return doctor.Report{}, err
		}
	}
	waiting := s.progress("examining", -1)
	defer waiting.finish()
	pool, err := open(ctx, p.url, nil)
	if err != nil {
		return doctor.Report{}, err
	}
	defer pool.Close()
	return doctor.Examine(ctx, doctor.Config{Database: pool, WorkerURL: worker, Stuck: c.StuckAfter})
}

func (r reports) text(out io.Writer) {
	for i, report := range r.Databases {
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		showReport(out, report)
	}
}

func showReport(out io.Writer, r doctor.Report) {
	counts := map[doctor.Severity]int{}
	var quiet []string
	for _, f := range r.Findings {
		counts[f.Severity]++
		if f.Severity == doctor.OK {
			quiet = append(quiet, string(f.Check))
		}
	}
	_, _ = fmt.Fprintf(out, "%s in database %s: errors %d, warnings %d\n", printable(r.Application), printable(r.Database), counts[doctor.Error], counts[doctor.Warning])
	if r.Proof.Made {
		_, _ = fmt.Fprintf(out, "the fence was tried as %s: %d tables, %d writes refused as they must be\n", printable(r.Proof.Login), r.Proof.Tables, r.Proof.Refusals)
	} else {
		_, _ = fmt.Fprintln(out, "the fence was NOT proven")
	}
	for _, f := range r.Findings {
		if f.Severity == doctor.OK {
			continue
		}
		since := ""
		if f.AgeMS > 0 {
			since = ", for " + age(time.Duration(f.AgeMS)*time.Millisecond)
		}
		_, _ = fmt.Fprintf(out, "\n%s %s: %s%s\n  %s\n  do: %s\n", f.Severity, f.Check, printable(f.Object), since, printable(f.Detail), printable(f.Remedy))
	}
	if len(quiet) > 0 {
		_, _ = fmt.Fprintln(out, "\nok: "+strings.Join(quiet, ", "))
	}
}
