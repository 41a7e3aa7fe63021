package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kesita/platform/coordination/journal"
)

// plain is an argument that means the same with and without quotes.
var plain = regexp.MustCompile(`^[-\w./:@%+=,]+$`)

// waiting: nobody has it. What keeps workers from claiming it?
func waiting(s *journal.Situation) answer {
	w, q := s.Workflow, s.Queue
	switch {
	case w.Queue == journal.ParkedQueue:
		return answer{
			cause: Parked, why: fmt.Sprintf("it was claimed, but no worker knew the name %q; it was taken out of queue %s", w.Name, w.HomeQueue),
			move: "deploy a worker that knows the name, then put it back", command: "kesita quarantine unpark " + quote(s.ID),
		}
	case s.Delayed:
		return answer{cause: Delayed, why: "it was submitted for later", until: w.DelayedUntil, move: "nothing: its time comes"}
	case s.Peers.Live == 0:
		return noVersion(s, "")
	case q == nil:
		return answer{
			cause: QueueNotRegistered, why: "queue " + w.Queue + " is not registered, so nobody polls it",
			move: "start a worker that serves this queue; a worker registers its queues at its start",
		}
	case q.Partitioned && w.Partition == "":
		return answer{
			cause: QueueNotServed, why: "queue " + w.Queue + " is partitioned and the workflow names no partition: it is never claimed",
			move: "submit it again with a partition",
		}
	}
	if a, full := limited(s); full {
		return a
	}
	return unlimited(s)
}

// limited is the answer when a limit of the queue is used up.
func limited(s *journal.Situation) (answer, bool) {
	w, q := s.Workflow, s.Queue
	for _, l := range []struct {
		what  string
		limit *int64
		used  int64
	}{
		{"queue " + w.Queue, q.GlobalLimit, q.GlobalUsed},
		{"the living workers of queue " + w.Queue, q.WorkerLimit, q.WorkerUsed},
		{"partition " + w.Partition + " of queue " + w.Queue, q.PartLimit, q.PartUsed},
		{"the living workers of partition " + w.Partition, q.PartWorkerLimit, q.PartWorkerUsed},
	} {
		if l.limit != nil && l.used >= *l.limit {
			return answer{
				cause: WaitingForCapacity, why: fmt.Sprintf("%s runs %d of %d: %s; %d go before it", l.what, l.used, *l.limit, holders(s.Holders), q.Ahead),
				move: capacity(s.Holders),
			}, true
		}
	}
	for _, l := range []struct {
		what  string
		limit *int64
		used  int64
		free  *time.Time
	}{
		{"queue " + w.Queue, q.RateLimit, q.RateUsed, q.RateFreeAt},
		{"partition " + w.Partition + " of queue " + w.Queue, q.PartRateLimit, q.PartRateUsed, q.PartRateFreeAt},
	} {
		if l.limit != nil && l.used >= *l.limit {
			return answer{
				cause: RateLimited, why: fmt.Sprintf("%s started %d of %d in its period; %d go before it", l.what, l.used, *l.limit, q.Ahead),
				until: l.free, move: "nothing: the period ends",
			}, true
		}
	}
	return answer{}, false
}

// unlimited: a worker could claim it. Then either it is about to, or nobody listens.
func unlimited(s *journal.Situation) answer {
	w, q := s.Workflow, s.Queue
	if t := s.Takeovers; len(t) > 0 && t[0].Cause == "stray" && t[0].Action == "returned" {
		count := 0
		for count < len(t) && t[count].Cause == "stray" {
			count++
		}
		return answer{
			cause: Stray, why: fmt.Sprintf("executor %s claimed it, did not run it and put it back; that happened %d times in a row", t[0].LostExecutor, count),
			move: "nothing: it is claimed again; if it happens again, look at that executor's log for workflow_stray",
		}
	}
	poll := time.Duration(q.PollMS) * time.Millisecond
	since := w.UpdatedAt
	if q.LastClaimAt != nil && q.LastClaimAt.After(since) {
		since = *q.LastClaimAt
	}
	if budget := s.Peers.Timing().BacklogStall(poll); w.Now.Sub(since) > budget {
		return answer{
			cause: QueueNotServed, why: fmt.Sprintf("queue %s has room and workers are alive (%d), but nobody claims", w.Queue, s.Peers.Live),
			move: "a worker that serves this queue: one that listens and stalls is ended by its own monitor",
		}
	}
	until := w.Now.Add(poll)
	return answer{
		cause: Due, why: fmt.Sprintf("queue %s has room; %d go before it", w.Queue, q.Ahead), until: &until,
		move: "nothing: the next poll of a worker claims it, or what goes before it",
	}
}

// holders names who takes the places.
func holders(list []journal.Holder) string {
	var names []string
	for _, h := range list {
		name := fmt.Sprintf("%d by %s (%s)", h.Workflows, cmp.Or(h.ExecutorID, "nobody"), h.Lease)
		if h.Held > 0 {
			name += fmt.Sprintf(", %d of them held back", h.Held)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// capacity says how places become free.
func capacity(list []journal.Holder) string {
	live, held := false, false
	for _, h := range list {
		live = live || h.Lease == "live"
		held = held || h.Held > 0
	}
	switch {
	case live:
		return "nothing: a place becomes free when one of them ends"
	case held:
		return "the held workflows are released one at a time; see kesita explain for one of them"
	}
	return "a takeover of the work of those executors; see kesita explain for one of their workflows, or kesita doctor"
}

func looksLikeExecutor(id string) bool {
	_, err := uuid.Parse(id)
	return err == nil
}

// quote writes an argument so that a shell takes it as it is.
func quote(argument string) string {
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
