package evidence

import (
	"slices"
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/provider"
)

// Evidence is everything that is known of one run.
type Evidence struct {
	Services []Service
	// Executions counts what the provider did, by idempotency key.
	Executions map[string]provider.JournalCount
	// Ended names the processes that ended without being asked to.
	Ended  []string
	Search Search
}

// Service is what one service did.
type Service struct {
	Name      string
	Items     []Item
	Histories []journal.History
	Executors []Executor
	Takeovers []Takeover
	Kill      Kill
	// Extra are rows of the business tables that the demo did not submit.
	Extra []string
}

// Item is one piece of submitted work and what became of it.
type Item struct {
	// ID is the row's in the business tables.
	ID string
	// Document is the name that people know it by.
	Document   string
	WorkflowID string
	// Rows counts how often the business tables hold it; anything but 1 is a fault.
	Rows int
	// State and Failure are the service's own words; Settled says that nothing will happen any more.
	State, Failure string
	Settled        bool
	// Refused says that the failure is the document's own: nobody could have read it.
	Refused bool
	// Runs counts the generations of a task, or the attempts of a job, that started.
	Runs int
	// Published counts the revisions that a task published, or the indexed documents of a job; Parts counts the
	// passages of a job, Doubled those that are there twice, Missing those that the job counted and that are not there.
	Published, Parts, Doubled, Missing int
	// Key is the idempotency key of a task.
	Key string
}

// Failed reports whether the work ended without its result.
func (i Item) Failed() bool { return i.Settled && i.Failure != "" }

// Executor is one process life, as the lease table tells it.
type Executor struct {
	ID string
	// Replica is the process's name; empty for an executor that the demo did not start.
	Replica                             string
	State                               string
	RegisteredAt, HeartbeatAt, ExpireAt time.Time
	// RevokedAt is zero, and RevokedBy empty, until a peer revoked it.
	RevokedAt time.Time
	RevokedBy string
}

// Takeover is one workflow that recovery moved.
type Takeover struct {
	WorkflowID, Lost, Scanner, Cause, Action string
	Attempts, Checkpoints                    int
	At                                       time.Time
}

// Kill is one replica that was killed.
type Kill struct {
	Replica, ExecutorID string
	PID                 int
	// At is the database's time right after the process was gone.
	At time.Time
	// Held are the workflows that it had claimed and not finished, as the journal showed them while it stood still.
	Held []journal.History
}

// Search is one full-text search over what was indexed.
type Search struct {
	Query string `json:"query"`
	Hits  []Hit  `json:"hits"`
}

// Hit is one passage that was found.
type Hit struct {
	Document string `json:"document"`
	Title    string `json:"title"`
	// Snippet is the passage around the words that were found, which stand in « ».
	Snippet string `json:"snippet"`
}

// UnderWay reports whether a workflow is in the middle: claimed, with a checkpoint behind it and a step before it.
// The step that settles is no middle: the work is done when it runs.
func UnderWay(h journal.History) bool {
	n := len(h.Checkpoints)
	return h.State == journal.Claimed && n > 0 && h.Checkpoints[n-1].Name != "settle"
}

// Apply brings the items up to date with the rows of the business tables, each with an ID.
func (s *Service) Apply(rows []Item) {
	for i := range s.Items {
		s.Items[i].Rows = 0
	}
	s.Extra = nil
	for _, row := range rows {
		i := slices.IndexFunc(s.Items, func(item Item) bool { return item.ID == row.ID })
		if i < 0 {
			s.Extra = append(s.Extra, row.ID)
			continue
		}
		item := &s.Items[i]
		row.ID, row.Document, row.WorkflowID, row.Key, row.Rows = item.ID, item.Document, item.WorkflowID, item.Key, item.Rows+1
		*item = row
	}
}

// History returns the journal's history of one workflow; false when the journal has none.
func (s Service) History(workflowID string) (journal.History, bool) {
	for _, h := range s.Histories {
		if h.WorkflowID == workflowID {
			return h, true
		}
	}
	return journal.History{}, false
}

// Document returns the name of the document that a workflow is about.
func (s Service) Document(workflowID string) string {
	for _, i := range s.Items {
		if i.WorkflowID == workflowID {
			return i.Document
		}
	}
	return workflowID
}

// Replica returns the name of an executor's process, or the start of its ID when the demo did not start it.
func (s Service) Replica(executorID string) string {
	for _, e := range s.Executors {
		if e.ID == executorID && e.Replica != "" {
			return e.Replica
		}
	}
	return executorID[:min(len(executorID), 8)]
}

// Executor returns one executor; false when the lease table has none with this ID.
func (s Service) Executor(id string) (Executor, bool) {
	for _, e := range s.Executors {
		if e.ID == id {
			return e, true
		}
	}
	return Executor{}, false
}

// TakeoversOf returns the moves of one workflow, the first first.
func (s Service) TakeoversOf(workflowID string) []Takeover {
	var moves []Takeover
	for _, t := range s.Takeovers {
		if t.WorkflowID == workflowID {
			moves = append(moves, t)
		}
	}
	return moves
}
