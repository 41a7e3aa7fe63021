package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
)

// errNoMiddle says that all work was done before a replica could be killed in the middle of it.
var errNoMiddle = errors.New("the work ended before a replica could be killed in the middle of it")

// strike kills one replica in the middle of its work: with a workflow that has a checkpoint and a step under way. To
// be sure, the replica is frozen first and looked at again; one that moved on meanwhile is left alone.
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
		if victim := s.busiest(held); victim != nil && worthIt(done, len(s.evidence.Items)) {
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
	if !anyUnderWay(own) {
		return evidence.Kill{}, false, victim.Thaw()
	}
	if err := victim.Kill(); err != nil {
		return evidence.Kill{}, false, err
	}
	at, err := evidence.Now(ctx, s.database.reader)
	return evidence.Kill{Replica: victim.Name(), ExecutorID: victim.executorID, PID: victim.PID(), At: at, Held: own}, true, err
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

// busiest is the replica with most workflows in the middle; nil when there is none.
func (s *service) busiest(held map[string][]journal.History) *replica {
	var found *replica
	most := 0
	for _, w := range s.replicas {
		if n := len(held[w.executorID]); n > most && anyUnderWay(held[w.executorID]) {
			found, most = w, n
		}
	}
	return found
}

func anyUnderWay(histories []journal.History) bool {
	for _, h := range histories {
		if evidence.UnderWay(h) {
			return true
		}
	}
	return false
}
