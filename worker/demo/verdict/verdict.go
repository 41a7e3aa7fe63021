// Package verdict owns the rules that a demo's run must have kept: nothing lost, nothing done twice, and every
// interrupted workflow carried on by a peer from its checkpoints.
//
// It is pure: evidence in, results out, one result a rule, whether it held or not. What is not in the evidence counts
// against a rule: a rule that could not be checked did not hold.
package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
)

// Result is what became of one rule.
type Result struct {
	// Rule is the rule in words.
	Rule string `json:"rule"`
	Held bool   `json:"held"`
	// Measure says in numbers what was looked at.
	Measure string `json:"measure"`
	// Faults say what broke the rule, one each.
	Faults []string `json:"faults,omitempty"`
}

// Judge applies every rule.
func Judge(e evidence.Evidence) []Result {
	rules := []struct {
		name  string
		check func(evidence.Evidence) (measure string, faults []string)
	}{
		{"each replica was killed in the middle of its work", killedAtWork},
		{"each lost lease was revoked by a peer", revoked},
		{"each interrupted workflow was taken over once and finished by a peer", takenOver},
		{"no checkpoint was lost or made again", checkpointsKept},
		{"every job is there once and has an end", everyJobOnce},
		{"no workflow ran more often than its takeovers explain", claimsExplained},
		{"nothing failed but documents that cannot be read", onlyDocumentsFailed},
		{"every finished task published one revision", publishedOnce},
		{"the provider executed every request once", executedOnce},
		{"no passage is indexed twice or missing", passagesOnce},
		{"no other process ended", nobodyElseEnded},
		{"the search finds what was indexed", searchFinds},
	}
	results := make([]Result, 0, len(rules))
	for _, rule := range rules {
		measure, faults := rule.check(e)
		results = append(results, Result{Rule: rule.name, Held: len(faults) == 0, Measure: measure, Faults: faults})
	}
	return results
}

// Held reports whether every rule held.
func Held(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool { return !r.Held })
}

// report collects faults.
type report []string

func (r *report) add(format string, values ...any) { *r = append(*r, fmt.Sprintf(format, values...)) }

func killedAtWork(e evidence.Evidence) (string, []string) {
	var faults report
	held := 0
	for _, s := range e.Services {
		held += len(s.Kill.Held)
		if s.Kill.Replica == "" || s.Kill.At.IsZero() {
			faults.add("no replica of %s was killed", s.Name)
			continue
		}
		if !slices.ContainsFunc(s.Kill.Held, evidence.UnderWay) {
			faults.add("%s held no workflow with a checkpoint and a step under way", s.Kill.Replica)
		}
	}
	return fmt.Sprintf("%d replicas, %d workflows", len(e.Services), held), faults
}

func revoked(e evidence.Evidence) (string, []string) {
	var faults report
	var longest time.Duration
	count := 0
	for _, s := range e.Services {
		lost, known := s.Executor(s.Kill.ExecutorID)
		switch {
		case !known:
			faults.add("the lease table of %s has no executor of %s", s.Name, s.Kill.Replica)
		case lost.State != "revoked":
			faults.add("the lease of %s is %s", s.Kill.Replica, lost.State)
		case lost.RevokedBy == lost.ID || s.Replica(lost.RevokedBy) == s.Kill.Replica:
			faults.add("%s was revoked by itself", s.Kill.Replica)
		case lost.RevokedAt.Before(lost.ExpireAt):
			faults.add("%s was revoked before its lease had expired", s.Kill.Replica)
		default:
			count++
			longest = max(longest, lost.RevokedAt.Sub(lost.ExpireAt))
		}
	}
	return fmt.Sprintf("%d leases, at most %.1f s after they expired", count, longest.Seconds()), faults
}

func takenOver(e evidence.Evidence) (string, []string) {
	var faults report
	count := 0
	for _, s := range e.Services {
		for _, held := range s.Kill.Held {
			name := s.Name + ": " + s.Document(held.WorkflowID)
			moves := slices.DeleteFunc(s.TakeoversOf(held.WorkflowID), func(t evidence.Takeover) bool { return !lost(t) })
			now, known := s.History(held.WorkflowID)
			switch {
			case !known:
				faults.add("%s is not in the journal any more", name)
			case len(moves) != 1:
				faults.add("%s was taken over %d times", name, len(moves))
			case moves[0].Action != "reenqueued":
				faults.add("%s was %s", name, moves[0].Action)
			case now.ExecutorID == held.ExecutorID:
				faults.add("%s was claimed by nobody else", name)
			case !now.State.Terminal():
				faults.add("%s is still %s", name, now.State)
			default:
				count++
			}
		}
	}
	return fmt.Sprintf("%d workflows", count), faults
}

func checkpointsKept(e evidence.Evidence) (string, []string) {
	var faults report
	count := 0
	for _, s := range e.Services {
		for _, held := range s.Kill.Held {
			now, _ := s.History(held.WorkflowID)
			for i, before := range held.Checkpoints {
				if i >= len(now.Checkpoints) || !same(now.Checkpoints[i], before) {
					faults.add("%s: checkpoint %s of %s is not what it was", s.Name, before.Name, s.Document(held.WorkflowID))
					continue
				}
				count++
			}
		}
	}
	return fmt.Sprintf("%d checkpoints", count), faults
}

func same(a, b journal.Checkpoint) bool {
	return a.Number == b.Number && a.Name == b.Name && a.StartedAt.Equal(b.StartedAt) && a.CompletedAt.Equal(b.CompletedAt)
}

func everyJobOnce(e evidence.Evidence) (string, []string) {
	var faults report
	count := 0
	for _, s := range e.Services {
		if len(s.Items) == 0 {
			faults.add("nothing was submitted to %s", s.Name)
		}
		for _, id := range s.Extra {
			faults.add("%s: %s was submitted by nobody", s.Name, id)
		}
		for _, i := range s.Items {
			h, known := s.History(i.WorkflowID)
			switch {
			case i.Rows != 1:
				faults.add("%s: %s is there %d times", s.Name, i.Document, i.Rows)
			case !known:
				faults.add("%s: the workflow of %s is not in the journal", s.Name, i.Document)
			case !h.State.Terminal():
				faults.add("%s: the workflow of %s is still %s", s.Name, i.Document, h.State)
			case !i.Settled:
				faults.add("%s: %s is still %s", s.Name, i.Document, i.State)
			default:
				count++
			}
		}
	}
	return fmt.Sprintf("%d jobs and tasks", count), faults
}

func claimsExplained(e evidence.Evidence) (string, []string) {
	var faults report
	claims := 0
	for _, s := range e.Services {
		for _, h := range s.Histories {
			claims += h.Claims
			if expected := 1 + losses(s.TakeoversOf(h.WorkflowID)); h.Claims != expected {
				faults.add("%s: %s was executed %d times, %d expected", s.Name, s.Document(h.WorkflowID), h.Claims, expected)
			}
		}
	}
	return fmt.Sprintf("%d executions", claims), faults
}

// losses counts the moves that a lost worker caused: each explains one more execution. The claim of a worker that
// stopped in an orderly way, or never started the work, was taken back.
func losses(moves []evidence.Takeover) int {
	count := 0
	for _, t := range moves {
		if lost(t) {
			count++
		}
	}
	return count
}

func lost(t evidence.Takeover) bool { return t.Cause == "expired" || t.Cause == "revoked" }
