// Package timeline owns the story of a recovered workflow: what happened to it, when, and by whom, relative to the
// moment at which its worker was killed.
//
// It is pure: evidence in, events out. Every event is a fact of a database; an event that the evidence does not hold
// is left out, and never guessed.
package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
)

// Kind is what happened.
type Kind string

// The kinds, in the order in which they happen.
const (
	Submitted  Kind = "submitted"
	Claimed    Kind = "claimed"
	Checkpoint Kind = "checkpoint"
	Killed     Kind = "killed"
	Expired    Kind = "lease expired"
	Revoked    Kind = "revoked"
	Reenqueued Kind = "re-enqueued"
	Resumed    Kind = "resumed"
	Finished   Kind = "finished"
)

// Event is one thing that happened.
type Event struct {
	At time.Time `json:"at"`
	// Seconds is the time after the kill; negative before it.
	Seconds float64 `json:"seconds"`
	Kind    Kind    `json:"kind"`
	// Who is the replica that did it, or to which it happened; may be empty.
	Who string `json:"who,omitempty"`
	// Detail is for people.
	Detail string `json:"detail,omitempty"`
}

// Story is what happened to one workflow.
type Story struct {
	Service    string  `json:"service"`
	Document   string  `json:"document"`
	WorkflowID string  `json:"workflow_id"`
	Events     []Event `json:"events"`
}

// Find returns the last event of a kind; false when there is none.
func (s Story) Find(kind Kind) (Event, bool) {
	for _, e := range slices.Backward(s.Events) {
		if e.Kind == kind {
			return e, true
		}
	}
	return Event{}, false
}

// Tell returns the stories of the workflows that the service's killed replica held, the first submitted first.
func Tell(s evidence.Service) []Story {
	stories := make([]Story, 0, len(s.Kill.Held))
	for _, held := range s.Kill.Held {
		t := teller{service: s, kill: s.Kill}
		t.before(held)
		t.lost(held)
		t.after(held)
		slices.SortStableFunc(t.events, func(a, b Event) int { return a.At.Compare(b.At) })
		stories = append(stories, Story{
			Service: s.Name, Document: s.Document(held.WorkflowID), WorkflowID: held.WorkflowID, Events: t.events,
		})
	}
	return stories
}

type teller struct {
	service evidence.Service
	kill    evidence.Kill
	events  []Event
}

func (t *teller) tell(at time.Time, kind Kind, who, detail string) {
	if at.IsZero() {
		return
	}
	t.events = append(t.events, Event{At: at, Seconds: at.Sub(t.kill.At).Seconds(), Kind: kind, Who: who, Detail: detail})
}

// before tells what the journal showed while the killed replica stood still.
func (t *teller) before(held journal.History) {
	t.tell(held.SubmittedAt, Submitted, "", t.service.Document(held.WorkflowID))
	t.tell(held.ClaimedAt, Claimed, t.service.Replica(held.ExecutorID), fmt.Sprintf("execution %d", held.Claims))
	for _, c := range held.Checkpoints {
		t.tell(c.CompletedAt, Checkpoint, t.kill.Replica, step(c))
	}
	t.tell(t.kill.At, Killed, t.kill.Replica, fmt.Sprintf("SIGKILL, pid %d; step %d was under way", t.kill.PID, len(held.Checkpoints)+1))
}

// lost tells what became of the lease and of the claim.
func (t *teller) lost(held journal.History) {
	if executor, known := t.service.Executor(t.kill.ExecutorID); known {
		t.tell(executor.ExpireAt, Expired, t.kill.Replica,
			fmt.Sprintf("renewed for the last time at %+.2f s", executor.HeartbeatAt.Sub(t.kill.At).Seconds()))
		t.tell(executor.RevokedAt, Revoked, t.service.Replica(executor.RevokedBy), "lease of "+t.kill.Replica)
	}
	for _, move := range t.service.TakeoversOf(held.WorkflowID) {
		if move.Lost == t.kill.ExecutorID {
			t.tell(move.At, Reenqueued, t.service.Replica(move.Scanner), moved(move))
		}
	}
}

// after tells how a peer went on. Before a peer claimed the workflow there is nothing to tell.
func (t *teller) after(held journal.History) {
	now, known := t.service.History(held.WorkflowID)
	if !known || now.ExecutorID == held.ExecutorID {
		return
	}
	peer := t.service.Replica(now.ExecutorID)
	from := "from the beginning"
	if n := len(held.Checkpoints); n > 0 {
		from = "after checkpoint " + step(held.Checkpoints[n-1])
	}
	t.tell(now.ClaimedAt, Resumed, peer, fmt.Sprintf("%s, execution %d", from, now.Claims))
	for _, c := range now.Checkpoints[min(len(held.Checkpoints), len(now.Checkpoints)):] {
		t.tell(c.CompletedAt, Checkpoint, peer, step(c))
	}
	t.tell(now.FinishedAt, Finished, peer, string(now.State))
}

func moved(move evidence.Takeover) string {
	if move.Action != "reenqueued" {
		return move.Action
	}
	return "with " + plural(move.Checkpoints, "checkpoint")
}

// step numbers from 1, as people do.
func step(c journal.Checkpoint) string { return fmt.Sprintf("%d (%s)", c.Number+1, c.Name) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
