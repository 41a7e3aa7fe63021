package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/source"
)

// shownFaults bounds the refused documents that are listed for one job.
const shownFaults = 50

type corpusAddCommand struct {
	database
	Wait    bool     `help:"Wait until every job is done or failed."`
	Sources []string `arg:"" name:"source" help:"File, folder or URL, as the workers see it. What exists on this machine is made absolute."`
}

type corpusStatusCommand struct {
	database
	Wait bool   `help:"Wait until the job is done or failed."`
	ID   string `arg:"" help:"ID that add printed."`
}

type corpusSearchCommand struct {
	database
	Limit int      `default:"10" help:"The largest number of passages, at most 100."`
	Query []string `arg:"" help:"Words, \"a phrase\", or, -without."`
}

// added is what add prints; Status and Faults are there with --wait.
type added struct {
	Jobs []addedJob `json:"jobs"`
}

type addedJob struct {
	corpus.Submitted
	Source string     `json:"source"`
	Status *jobStatus `json:"status,omitempty"`
}

// jobStatus is what status prints. Faults are the first documents that were refused.
type jobStatus struct {
	index.Job
	Faults []index.Fault `json:"faults"`
}

// found is what search prints.
type found struct {
	Query string      `json:"query"`
	Hits  []index.Hit `json:"hits"`
}

// Run implements kong's command.
func (c corpusAddCommand) Run(ctx context.Context, s *session) error {
	const what = "add to corpus"
	sources, err := namesOf(c.Sources)
	if err != nil {
		return refused(what, err)
	}
	url, err := c.of(s, corpusTarget())
	if err != nil {
		return failure{what: what, err: err}
	}
	pool, err := open(ctx, url, nil)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer pool.Close()
	client, err := submit.Open(ctx, url, corpus.Application, corpus.Version)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer func() { _ = client.Close() }() // what it submitted is committed
	done := added{Jobs: []addedJob{}}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // all sources or none
		for _, name := range sources {
			one, err := corpus.Submit(ctx, tx, client, corpus.Request{Source: name})
			if err != nil {
				return err
			}
			done.Jobs = append(done.Jobs, addedJob{Submitted: one, Source: name})
		}
		return nil
	})
	if err != nil {
		return failure{what: what, err: err}
	}
	if c.Wait {
		if err := done.await(ctx, s, pool); err != nil {
			return failure{what: "wait for corpus jobs", err: err}
		}
	}
	return errors.Join(s.print(done), done.failure())
}

// namesOf turns what exists here into the absolute path that a worker on this machine opens, and refuses what no
// worker would take.
func namesOf(sources []string) ([]string, error) {
	names := make([]string, len(sources))
	var faults []error
	for i, name := range sources {
		names[i] = name
		if _, err := os.Stat(name); err == nil {
			absolute, err := filepath.Abs(name)
			faults = append(faults, err)
			names[i] = absolute
		}
		faults = append(faults, source.Check(names[i]))
	}
	return names, errors.Join(faults...)
}

// await looks at the jobs again and again until all are finished.
func (a added) await(ctx context.Context, s *session, pool *pgxpool.Pool) error {
	bar := s.progress("indexing", 1)
	defer bar.finish()
	ticker := time.NewTicker(timing.Production().QueuePoll)
	defer ticker.Stop()
	for {
		items, done, finished := 0, 0, true
		for i := range a.Jobs {
			status, err := readJob(ctx, pool, a.Jobs[i].JobID)
			if err != nil {
				return err
			}
			a.Jobs[i].Status = &status
			finished = finished && status.Finished()
			items, done = items+max(1, status.Items), done+status.Indexed+status.Unchanged+status.Refused
		}
		bar.set(min(done, items), items)
		if finished {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// failure is the command's outcome when a job's is one.
func (a added) failure() error {
	for _, job := range a.Jobs {
		if err := job.Status.failure(); err != nil {
			return err
		}
	}
	return nil
}

// Run implements kong's command.
func (c corpusStatusCommand) Run(ctx context.Context, s *session) error {
	const what = "show corpus job"
	url, err := c.of(s, corpusTarget())
	if err != nil {
		return failure{what: what, err: err}
	}
	pool, err := open(ctx, url, nil)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer pool.Close()
	status, err := readJob(ctx, pool, c.ID)
	if err == nil && c.Wait {
		one := added{Jobs: []addedJob{{Submitted: corpus.Submitted{JobID: c.ID}}}}
		if err = one.await(ctx, s, pool); err == nil {
			status = *one.Jobs[0].Status
		}
	}
	switch {
	case errors.Is(err, index.ErrJobUnknown):
		return refused(what, err)
	case err != nil:
		return failure{what: what, err: err}
	case !c.Wait:
		return s.print(status)
	}
	return errors.Join(s.print(status), status.failure())
}

func readJob(ctx context.Context, pool *pgxpool.Pool, id string) (jobStatus, error) {
	job, err := index.Status(ctx, pool, id)
	if err != nil {
		return jobStatus{}, err
	}
	faults, err := index.Faults(ctx, pool, id, shownFaults)
	return jobStatus{job, append([]index.Fault{}, faults...)}, err
}

func (j *jobStatus) failure() error {
	if j == nil || j.State != index.Failed {
		return nil
	}
	return failure{what: "corpus job " + j.ID, err: errors.New("failed: " + string(j.FailureCode)), code: exitFailedWork}
}

// Run implements kong's command.
func (c corpusSearchCommand) Run(ctx context.Context, s *session) error {
	const what = "search corpus"
	url, err := c.of(s, corpusTarget())
	if err != nil {
		return failure{what: what, err: err}
	}
	pool, err := open(ctx, url, nil)
	if err != nil {
		return failure{what: what, err: err}
	}
	defer pool.Close()
	query := strings.Join(c.Query, " ")
	hits, err := index.Search(ctx, pool, query, c.Limit)
	switch {
	case errors.Is(err, index.ErrNoWords):
		return refused(what, err)
	case err != nil:
		return failure{what: what, err: err}
	}
	return s.print(found{query, append([]index.Hit{}, hits...)})
}

func (a added) text(out io.Writer) {
	for _, job := range a.Jobs {
		_, _ = fmt.Fprintf(out, "job\t%s\nsource\t%s\n", printable(job.JobID), printable(job.Source))
		if job.Status != nil {
			job.Status.outcome(out)
		}
	}
}

func (j jobStatus) text(out io.Writer) {
	_, _ = fmt.Fprintf(out, "job\t%s\nsource\t%s\n", printable(j.ID), printable(j.Source))
	j.outcome(out)
}

func (j jobStatus) outcome(out io.Writer) {
	state := string(j.State)
	if j.FailureCode != "" {
		state += ": " + string(j.FailureCode)
	}
	if j.FailureDetail != "" {
		state += " (" + printable(j.FailureDetail) + ")"
	}
	_, _ = fmt.Fprintf(out, "state\t%s\ndocuments\t%d: %d indexed, %d unchanged, %d refused, %d removed\npassages\t%d\n",
		state, j.Items, j.Indexed, j.Unchanged, j.Refused, j.Removed, j.Passages)
	for _, fault := range j.Faults {
		_, _ = fmt.Fprintf(out, "refused\t%s: %s\n", printable(fault.URI), fault.Code)
	}
	if len(j.Faults) < j.Refused {
		_, _ = fmt.Fprintf(out, "refused\tand %d more\n", j.Refused-len(j.Faults))
	}
}

func (f found) text(out io.Writer) {
	if len(f.Hits) == 0 {
		_, _ = fmt.Fprintln(out, "nothing found")
	}
	for i, hit := range f.Hits {
		place := hit.Title
		if hit.Section != "" && hit.Section != hit.Title {
			place += ", " + hit.Section
		}
		_, _ = fmt.Fprintf(out, "%d. %s\n   %s\n   %s\n", i+1, printable(place), printable(hit.Snippet), printable(hit.URI))
	}
}
