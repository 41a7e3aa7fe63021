package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
)

// errNoMiddle says that all work was done before a replica could be killed in the middle of it.
var errNoMiddle = errors.New("the work ended before a replica could be killed in the middle of it")

// strike kills one replica in the middle of its work: with a workflow that has a checkpoint and whose slow step is under
// way. To be sure, the replica is frozen first and looked at again; one that moved on meanwhile is left alone.
func (r *run) strike(ctx context.Context, s *service) (evidence.Kill, error) {
	ticker := time.NewTicker(r.pace.look)
	defer ticker.Stop()
	for {
		held, done, err := s.held(ctx)
		if err != nil {
			return evidence.Kill{}, err
		}
		if done == len(s.evidence.Items) {
			return evidence.Kill{}, fmt.Errorf("%s: %w", s.name, errNoMiddle)
		}
		now, err := evidence.Now(ctx, s.database.reader)
		if err != nil {
			return evidence.Kill{}, err
		}
		if victim := r.busiest(s, held, now); victim != nil && worthIt(done, len(s.evidence.Items)) {
			kill, struck, err := r.freezeAndKill(ctx, s, victim)
			if err != nil || struck {
				return kill, err
			}
		}
		select {
		case <-ctx.Done():
			return evidence.Kill{}, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// worthIt waits until something is done, so that the run also shows work that nothing happened to, unless there is
// too little of it.
func worthIt(done, all int) bool {
	const few = 5
	return done > 0 || all < few
}

func (r *run) freezeAndKill(ctx context.Context, s *service, victim *replica) (evidence.Kill, bool, error) {
	if err := victim.Freeze(); err != nil {
		return evidence.Kill{}, false, errors.Join(err, victim.Failure())
	}
	held, _, err := s.held(ctx)
	if err != nil {
		return evidence.Kill{}, false, err
	}
	own := held[victim.executorID]
	if !slices.ContainsFunc(own, evidence.UnderWay) {
		return evidence.Kill{}, false, victim.Thaw()
	}
	if err := victim.Kill(); err != nil {
		return evidence.Kill{}, false, err
	}
	at, err := evidence.Now(ctx, s.database.reader)
	if err != nil {
		return evidence.Kill{}, false, err
	}
	own, err = r.left(ctx, s, victim)
	return evidence.Kill{Replica: victim.Name(), ExecutorID: victim.executorID, PID: victim.PID(), At: at, Held: own}, true, err
}

// left is what a killed replica still holds once its last statements have ended: the server may have finished one
// that was on its way when the process froze, and with it a workflow.
func (r *run) left(ctx context.Context, s *service, victim *replica) ([]journal.History, error) {
	timer := time.NewTimer(r.pace.look)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
	}
	held, _, err := s.held(ctx)
	return held[victim.executorID], err
}

// held returns the claimed workflows of each executor, and how many are at their end.
func (s *service) held(ctx context.Context) (byExecutor map[string][]journal.History, done int, err error) {
	histories, err := journal.Histories(ctx, s.database.reader, s.evidence.WorkflowIDs())
	if err != nil {
		return nil, 0, err
	}
	byExecutor = map[string][]journal.History{}
	for _, h := range histories {
		switch {
		case h.State.Terminal():
			done++
		case h.State == journal.Claimed:
			byExecutor[h.ExecutorID] = append(byExecutor[h.ExecutorID], h)
		}
	}
	return byExecutor, done, nil
}

// busiest is the replica with most workflows in the middle of their slow step; nil when there is none.
func (r *run) busiest(s *service, held map[string][]journal.History, now time.Time) *replica {
	var found *replica
	most := 0
	for _, w := range s.replicas {
		count := 0
		for _, h := range held[w.executorID] {
			if r.inTheMiddle(h, now) {
				count++
			}
		}
		if count > most {
			found, most = w, count
		}
	}
	return found
}

// inTheMiddle reports whether a workflow has been in the step after its last checkpoint for a good part of the time
// that a slow step takes, and not yet for most of it.
func (r *run) inTheMiddle(h journal.History, now time.Time) bool {
	if !evidence.UnderWay(h) {
		return false
	}
	since := now.Sub(h.Checkpoints[len(h.Checkpoints)-1].CompletedAt)
	return since > r.pace.effort/4 && since < r.pace.effort*3/4
}
