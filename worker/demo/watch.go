package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/demo/screen"
	"github.com/kesita/platform/worker/provider"
)

// Why a wait for the end of the work ended.
var (
	errUnsettled = errors.New("the work did not end in time")
	errDeserted  = errors.New("no replica is left")
)

// awaitSettled waits until all work is at its end and the lost leases are revoked. Work that does not end in time is
// no error of the wait: the verdict names it.
func (r *run) awaitSettled(ctx context.Context) error {
	total := 0
	for _, s := range r.services {
		total += len(s.evidence.Items)
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.pace.settle(total), errUnsettled)
	defer cancel()
	ticker := time.NewTicker(4 * r.pace.look)
	defer ticker.Stop()
	note := ""
	for {
		done, waiting, err := r.progress(limited)
		switch {
		case errors.Is(context.Cause(limited), errUnsettled):
			r.screen.Done()
			r.screen.Line("%s: %s", r.screen.Paint(screen.Bad, errUnsettled.Error()), note)
			return nil
		case err != nil:
			return err
		case done == total && len(waiting) == 0:
			r.screen.Done()
			return nil
		}
		note = strings.Join(waiting, ", ")
		r.screen.Progress(done, total, note)
		select {
		case <-limited.Done():
		case <-ticker.C:
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// progress counts the settled work and says what is waited for.
func (r *run) progress(ctx context.Context) (done int, waiting []string, err error) {
	for _, s := range r.services {
		if !slices.ContainsFunc(s.replicas, func(w *replica) bool { return w.Alive() }) {
			return 0, nil, fmt.Errorf("%s: %w: %w", s.name, errDeserted, s.failures())
		}
		if err := s.refresh(ctx); err != nil {
			return 0, nil, err
		}
		now, err := evidence.Now(ctx, s.database.reader)
		if err != nil {
			return 0, nil, err
		}
		settled := s.settled()
		done += settled
		lost, _ := s.evidence.Executor(s.evidence.Kill.ExecutorID)
		switch left := lost.ExpireAt.Sub(now).Seconds(); {
		case lost.State == "active" && left > 0:
			waiting = append(waiting, fmt.Sprintf("lease of %s ends in %.0f s", s.evidence.Kill.Replica, left))
		case lost.State == "active":
			waiting = append(waiting, s.evidence.Kill.Replica+" is to be revoked")
		case settled < len(s.evidence.Items):
			waiting = append(waiting, fmt.Sprintf("%d of %s left", len(s.evidence.Items)-settled, s.name))
		}
	}
	return done, waiting, nil
}

// failures says why replicas ended that nobody ended.
func (s *service) failures() error {
	var failures []error
	for _, w := range s.replicas {
		failures = append(failures, w.Failure())
	}
	return errors.Join(failures...)
}

// collect reads the evidence once more, all of it.
func (r *run) collect(ctx context.Context) (evidence.Evidence, error) {
	e := evidence.Evidence{Ended: r.processes.ended()}
	for _, s := range r.services {
		if err := s.refresh(ctx); err != nil {
			return evidence.Evidence{}, err
		}
		e.Services = append(e.Services, s.evidence)
	}
	file, err := os.Open(r.providerJournal())
	if err != nil {
		return evidence.Evidence{}, fmt.Errorf("open the provider's journal: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	if e.Executions, err = provider.CountJournal(file); err != nil {
		return evidence.Evidence{}, err
	}
	e.Search, err = r.find(ctx)
	return e, err
}
