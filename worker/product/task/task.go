// Package task holds the words of the product domain that every other product
// package shares: the input and name of the workflow, the states of tasks and
// runs, the closed list of failure codes, and what a document may be. It is pure
// and imports no database, no HTTP and no workflow engine. Its answer to bad
// input is a sentinel error that says why, never the input.
package task

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Names under which the work is queued. They are stored in the journal: a change
// strands work that waits.
const (
	Queue    = "product-run"
	Workflow = "product.run"
)

// Input is the input of one workflow: identifiers only, because inputs stay in
// the journal. JSON field names are part of what is stored.
type Input struct {
	TenantID   uuid.UUID `json:"tenant_id"`
	TaskID     uuid.UUID `json:"task_id"`
	Generation int       `json:"generation"`
}

// WorkflowID is the one workflow of a task's generation: enqueueing it twice is
// enqueueing it once. It holds the whole input, so that a workflow which is only
// known by its ID can be settled (P3).
func (i Input) WorkflowID() string {
	return fmt.Sprintf("%s/%s/%s/%d", Workflow, i.TenantID, i.TaskID, i.Generation)
}

// ErrWorkflowID says that an ID is none that WorkflowID makes.
var ErrWorkflowID = errors.New("not a workflow id of the product")

// ParseWorkflowID is the inverse of WorkflowID.
func ParseWorkflowID(id string) (Input, error) {
	parts := strings.Split(id, "/")
	if len(parts) != 4 {
		return Input{}, ErrWorkflowID
	}
	tenant, tenantErr := uuid.Parse(parts[1])
	taskID, taskErr := uuid.Parse(parts[2])
	generation, generationErr := strconv.Atoi(parts[3])
	in := Input{TenantID: tenant, TaskID: taskID, Generation: generation}
	if errors.Join(tenantErr, taskErr, generationErr) != nil || in.WorkflowID() != id {
		return Input{}, ErrWorkflowID
	}
	return in, nil
}

// IdempotencyKey is what the provider stores its answer under. It is the same
// for every attempt of a generation, on whatever replica (F7).
func (i Input) IdempotencyKey() string {
	return fmt.Sprintf("product/%s/%d", i.TaskID, i.Generation)
}

// Kind is what a task asks for.
type Kind string

// Summary asks for a new revision with a summary of the current one.
const Summary Kind = "summary"

// State is the state of a task or a run.
type State string

// The states. Queued is a task's only.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

// Finished reports whether nothing will happen any more in this generation.
func (s State) Finished() bool { return s == Done || s == Failed }

// FailureCode says why a task failed. The list is closed; a code is for people
// and alerts, and carries no data.
type FailureCode string

// The failure codes.
const (
	// NotAdmitted: the control ledger does not admit the tenant.
	NotAdmitted FailureCode = "not_admitted"
	// AdmissionUnavailable: the control ledger could not be asked; without an
	// answer nothing is admitted (F9).
	AdmissionUnavailable FailureCode = "admission_unavailable"
	// ProviderUnavailable: down, busy or failing in every attempt.
	ProviderUnavailable FailureCode = "provider_unavailable"
	// ProviderRefused: the provider does not take this request, now or later.
	ProviderRefused FailureCode = "provider_refused"
	// ProviderNonsense: the provider answered something that keeps no contract.
	ProviderNonsense FailureCode = "provider_nonsense"
	// UnknownOutcome: a request was sent and no answer came. The provider may
	// have done the work, and billed it (F7).
	UnknownOutcome FailureCode = "unknown_outcome"
	// RevisionConflict: somebody else changed the document meanwhile.
	RevisionConflict FailureCode = "revision_conflict"
	// StaleGeneration: a later generation of the task took over. Runs only.
	StaleGeneration FailureCode = "stale_generation"
	// OverBudget: a step used up its time (D8).
	OverBudget FailureCode = "step_over_budget"
	// AttemptsExhausted: every worker that ran this generation was lost (P2).
	AttemptsExhausted FailureCode = "attempts_exhausted"
	// Internal: an error that this version does not know.
	Internal FailureCode = "internal_error"
)

// MaxBodyBytes bounds the text of one revision.
const MaxBodyBytes = 4 << 20

// DefaultSentences and MaxSentences bound the length of a summary.
const (
	DefaultSentences = 3
	MaxSentences     = 50
)

// Reasons why a text cannot be a document.
var (
	ErrBodyEmpty    = errors.New("document is empty")
	ErrBodyTooLarge = fmt.Errorf("document is larger than %d bytes", MaxBodyBytes)
	ErrBodyNotText  = errors.New("document is not UTF-8 text")
)

// CheckBody returns nil for a text that can be stored and summarised, else one
// of ErrBodyEmpty, ErrBodyTooLarge, ErrBodyNotText. A NUL byte is valid UTF-8
// but no text that the database can hold.
func CheckBody(body string) error {
	if len(body) > MaxBodyBytes {
		return ErrBodyTooLarge
	}
	if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
		return ErrBodyNotText
	}
	if strings.TrimSpace(body) == "" {
		return ErrBodyEmpty
	}
	return nil
}
