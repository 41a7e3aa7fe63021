package explain

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kesita/platform/coordination/journal"
)

// Cause is why a workflow stands where it stands. The list is closed: scripts may rely on it.
type Cause string

// The causes.
const (
	// Running: a living executor has it.
	Running Cause = "running"
	// Due: nothing stands in its way; the next poll of a worker claims it.
	Due Cause = "due"
	// WaitingForCapacity: the places of its queue are taken.
	WaitingForCapacity Cause = "waiting_for_capacity"
	// RateLimited: its queue started as many as it may in this period.
	RateLimited Cause = "rate_limited"
	// Delayed: it was submitted for later.
	Delayed Cause = "delayed"
	// VersionNotRunning: no living worker is of its application and version (C5).
	VersionNotRunning Cause = "version_not_running"
	// OwnerNotRegistered: it was claimed by something that the registry does not know (O4).
	OwnerNotRegistered Cause = "owner_not_registered"
	// TakeoverDue: its owner is over, a peer takes it over.
	TakeoverDue Cause = "takeover_due"
	// OwnerFrozen: its owner is over, but a transaction of it is still open (K4).
	OwnerFrozen Cause = "owner_frozen"
	// HeldSuspect: it lost two workers or more and waits for its turn (X3).
	HeldSuspect Cause = "held_suspect"
	// Parked: no worker knew its name (X2).
	Parked Cause = "parked"
	// Quarantined: it lost its last allowed worker (P2).
	Quarantined Cause = "quarantined"
	// Cancelled: somebody, or its deadline, cancelled it.
	Cancelled Cause = "cancelled"
	// Finished: it succeeded or failed.
	Finished Cause = "finished"
	// Stray: a worker claimed it, did not start it and put it back (X2).
	Stray Cause = "stray"
	// QueueNotRegistered: its queue does not exist, so nobody polls it.
	QueueNotRegistered Cause = "queue_not_registered"
	// QueueNotServed: its queue exists and has room, and nobody claims.
	QueueNotServed Cause = "queue_not_served"
	// NotFound: there is no such workflow.
	NotFound Cause = "not_found"
)

// Causes is the closed list.
func Causes() []Cause {
	return []Cause{
		Running, Due, WaitingForCapacity, RateLimited, Delayed, VersionNotRunning, OwnerNotRegistered, TakeoverDue,
		OwnerFrozen, HeldSuspect, Parked, Quarantined, Cancelled, Finished, Stray, QueueNotRegistered, QueueNotServed, NotFound,
	}
}

// answer is a cause with its words.
type answer struct {
	cause     Cause
	why, move string
	command   string
	until     *time.Time
}

func judge(s *journal.Situation) answer {
	switch s.State {
	case journal.Succeeded, journal.Failed:
		return answer{cause: Finished, why: "it " + string(s.State), move: "nothing: it is over"}
	case journal.Cancelled:
		return answer{cause: Cancelled, why: "it was cancelled, by somebody or by its deadline", move: "nothing resumes cancelled work; submit it again under another ID"}
	case journal.Quarantined:
		return quarantined(s)
	case journal.Claimed:
		return claimed(s)
	case journal.Waiting:
	}
	return waiting(s)
}

func quarantined(s *journal.Situation) answer {
	w := s.Workflow
	settled := "its business state was settled as failed"
	switch {
	case w.QuarantinedAt == nil:
		settled = "no scan has taken notice of it yet"
	case w.SettledAt == nil && w.SettleFailures > 0:
		settled = fmt.Sprintf("settling its business state failed %d times and is tried again", w.SettleFailures)
	case w.SettledAt == nil:
		settled = "its business state is not settled yet"
	}
	return answer{
		cause: Quarantined, why: fmt.Sprintf("it lost %d workers, the last one it was allowed; %s", w.Attempts, settled),
		move:    "repair the cause first: a retry gives it all its attempts again",
		command: "kesita quarantine retry " + quote(s.ID) + " --yes",
	}
}

// claimed: somebody took it. Who, and is that somebody still there?
func claimed(s *journal.Situation) answer {
	w, owner := s.Workflow, s.Owner
	switch {
	case owner == nil:
		return unregistered(s)
	case owner.Application != w.Application || owner.Version != w.Version:
		return answer{
			cause: OwnerNotRegistered,
			why:   fmt.Sprintf("its owner is registered for %s %s, not for %s %s, so no scan takes it for that executor's work", owner.Application, owner.Version, w.Application, w.Version),
			move:  "find out what claimed it and why; nothing is guessed or taken",
		}
	case owner.Live:
		return running(s)
	case s.Peers.Live == 0:
		return noVersion(s, "its owner is over and nobody is left to take it over: ")
	case w.Held():
		return held(s)
	}
	return takeover(s)
}

func running(s *journal.Situation) answer {
	owner := s.Owner
	a := answer{
		cause: Running, why: "its owner is alive and has it: in a step, or in a durable wait",
		move: "nothing, if that is what it should do; otherwise another worker takes it over when this one is revoked",
	}
	if since := lastProgress(s); s.Workflow.Now.Sub(since) > owner.Timing().StepExecute {
		a.why += "; no step ended for longer than a step may take"
		a.command = "kesita executors revoke " + owner.ExecutorID.String() + " --force"
	}
	return a
}

func unregistered(s *journal.Situation) answer {
	a := answer{
		cause: OwnerNotRegistered,
		why:   "it was claimed by something that is no executor of this database, or whose registration is gone",
		move:  "make sure that no such process runs; then a tombstone for its ID lets the next scan take the work over",
	}
	if looksLikeExecutor(s.Workflow.ExecutorID) {
		a.command = "kesita executors revoke " + s.Workflow.ExecutorID + " --force"
		return a
	}
	a.move = "find the process that starts workflows outside of a worker; nothing is guessed or taken"
	return a
}

func held(s *journal.Situation) answer {
	turn := s.Suspects
	a := answer{
		cause: HeldSuspect, move: "nothing: it is released when its turn comes; give it its attempts back if it did not cause the losses",
		command: "kesita quarantine grant " + quote(s.ID),
		why:     fmt.Sprintf("it lost %d workers, and such workflows are released one at a time; %d go before it", *s.Workflow.Losses, turn.Ahead),
	}
	if turn.OnProbation != "" {
		a.why += "; on probation now: " + turn.OnProbation
		until := turn.ReleasedAt.Add(s.Peers.Timing().Probation)
		a.until = &until
	}
	return a
}

// takeover: the owner is over and peers live.
func takeover(s *journal.Situation) answer {
	owner, w := s.Owner, s.Workflow
	t := owner.Timing()
	from := owner.EndedAt
	if w.ClaimedAt != nil && w.ClaimedAt.After(from) { // claimed by an executor that was over already (T5)
		from = *w.ClaimedAt
	}
	until := from.Add(t.Scan + t.QueuePoll)
	revoke := "kesita executors revoke " + owner.ExecutorID.String()
	if owner.Transactions > 0 {
		until = until.Add(t.Transaction)
		return answer{
			cause: OwnerFrozen, until: &until, command: revoke,
			why:  fmt.Sprintf("its owner is over, but open transactions of it hold the takeover off: %d", owner.Transactions),
			move: "nothing at first: scanners end its sessions when a transaction may not last any longer; by hand:",
		}
	}
	a := answer{
		cause: TakeoverDue, until: &until, why: fmt.Sprintf("its owner's lease is over, and a peer takes it over; living peers: %d", s.Peers.Live),
		move: "nothing: the next scan does it",
	}
	if w.Now.After(until) {
		a.why += "; this is overdue"
		a.move, a.command = "look at the peers' log for executor_recovery; by hand:", revoke
	}
	return a
}

func noVersion(s *journal.Situation, before string) answer {
	w := s.Workflow
	a := answer{
		cause: VersionNotRunning, why: fmt.Sprintf("%sno living worker of application %s, version %s", before, cmp.Or(w.Application, "(any)"), cmp.Or(w.Version, "(any)")),
		move: "start a worker of exactly that application and version: no other one takes it",
	}
	if w.Application != "" && w.Application != w.DatabaseApplication {
		a.why += "; this database belongs to " + w.DatabaseApplication
	}
	return a
}

// lastProgress is when the workflow did something that was recorded.
func lastProgress(s *journal.Situation) time.Time {
	last := s.Workflow.SubmittedAt
	if s.Workflow.ClaimedAt != nil {
		last = *s.Workflow.ClaimedAt
	}
	for _, c := range s.Checkpoints {
		if c.CompletedAt.After(last) {
			last = c.CompletedAt
		}
	}
	return last
}
