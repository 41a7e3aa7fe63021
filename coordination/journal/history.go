package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/history.sql
var historySQL string

//go:embed sql/checkpoints.sql
var checkpointsSQL string

// State is where a workflow stands, in the words of the platform.
type State string

// The states.
const (
	// Waiting: enqueued or delayed, nobody runs it.
	Waiting State = "waiting"
	// Claimed: an executor took it and may be running it.
	Claimed State = "claimed"
	// Succeeded, Failed and Cancelled are terminal.
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	// Quarantined: it lost its last allowed worker (P2). Terminal.
	Quarantined State = "quarantined"
)

// Terminal reports whether nobody will run the workflow any more.
func (s State) Terminal() bool { return s != Waiting && s != Claimed }

// History is what the journal knows of one workflow: where it stands and which steps it recorded. Never its input,
// its result or a step's.
type History struct {
	WorkflowID, Name string
	State            State
	// Queue is empty for a workflow that was started directly, and for a quarantined or cancelled one.
	Queue string
	// ExecutorID is the last executor that claimed it; it stays when the workflow waits again.
	ExecutorID string
	// Claims counts the executions, those taken back after an orderly stop not included (P1, K3).
	Claims      int
	SubmittedAt time.Time
	// ClaimedAt is the time of the current claim; zero while the workflow waits.
	ClaimedAt time.Time
	// FinishedAt is zero until the state is terminal.
	FinishedAt  time.Time
	Checkpoints []Checkpoint
}

// Checkpoint is one recorded step. Its times are those of the worker's clock.
type Checkpoint struct {
	Number                 int
	Name                   string
	StartedAt, CompletedAt time.Time
}

// Histories returns what is known of the workflows with these IDs, in the order of their submission, of one moment
// each for states and for checkpoints. An ID that is not in the journal is left out. Reading is not guarded: any
// login with SELECT on the journal will do (F4).
func Histories(ctx context.Context, db Connection, workflowIDs []string) ([]History, error) {
	if len(workflowIDs) == 0 {
		return nil, nil
	}
	rows, err := db.Query(ctx, historySQL, workflowIDs)
	if err != nil {
		return nil, fmt.Errorf("read workflow history: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanHistory)
	if err != nil {
		return nil, fmt.Errorf("read workflow history: %w", err)
	}
	if err := addCheckpoints(ctx, db, list, workflowIDs); err != nil {
		return nil, fmt.Errorf("read checkpoints: %w", err)
	}
	return list, nil
}

func scanHistory(row pgx.CollectableRow) (History, error) {
	var h History
	var status string
	var claimed, finished *time.Time
	err := row.Scan(&h.WorkflowID, &h.Name, &status, &h.Queue, &h.ExecutorID, &h.Claims, &h.SubmittedAt, &claimed, &finished)
	if err != nil {
		return History{}, err
	}
	if h.State, err = stateOf(status); err != nil {
		return History{}, err
	}
	if claimed != nil {
		h.ClaimedAt = *claimed
	}
	if finished != nil {
		h.FinishedAt = *finished
	}
	return h, nil
}

func stateOf(status string) (State, error) {
	switch status {
	case "ENQUEUED", "DELAYED":
		return Waiting, nil
	case "PENDING":
		return Claimed, nil
	case "SUCCESS":
		return Succeeded, nil
	case "ERROR":
		return Failed, nil
	case "CANCELLED":
		return Cancelled, nil
	case "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
		return Quarantined, nil
	default:
		return "", fmt.Errorf("unknown workflow status %q", status)
	}
}

func addCheckpoints(ctx context.Context, db Connection, list []History, workflowIDs []string) error {
	at := make(map[string]int, len(list))
	for i, h := range list {
		at[h.WorkflowID] = i
	}
	rows, err := db.Query(ctx, checkpointsSQL, workflowIDs)
	if err != nil {
		return err
	}
	var id string
	var c Checkpoint
	_, err = pgx.ForEachRow(rows, []any{&id, &c.Number, &c.Name, &c.StartedAt, &c.CompletedAt}, func() error {
		if i, known := at[id]; known {
			list[i].Checkpoints = append(list[i].Checkpoints, c)
		}
		return nil
	})
	return err
}
