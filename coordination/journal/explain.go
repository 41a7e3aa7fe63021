package journal

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/timing"
)

//go:embed sql/explain_workflow.sql
var explainWorkflowSQL string

//go:embed sql/explain_peers.sql
var explainPeersSQL string

//go:embed sql/explain_queue.sql
var explainQueueSQL string

//go:embed sql/explain_holders.sql
var explainHoldersSQL string

//go:embed sql/explain_suspects.sql
var explainSuspectsSQL string

//go:embed sql/explain_takeovers.sql
var explainTakeoversSQL string

// ParkedQueue is where workflows wait whose name no worker knows (X2). Nobody serves it.
const ParkedQueue = "kesita-parked"

// Situation is everything that decides whether one workflow moves, read at one moment.
type Situation struct {
	ID          string
	Workflow    Standing
	State       State
	Delayed     bool
	Checkpoints []Checkpoint
	// Owner is the lease of the executor that the workflow names; nil when the registry does not know it.
	Owner *Lease
	// Peers are the living executors that may run it.
	Peers Peers
	// Queue is nil when the workflow waits in no registered queue. Holders are the executors that take its places.
	Queue   *QueueRoom
	Holders []Holder
	// Suspects is set when the workflow is held back.
	Suspects *SuspectTurn
	// Takeovers are what was done with it, the newest first, at most 20.
	Takeovers []Takeover
}

// Standing is the workflow's own row, with what the platform noted about it.
type Standing struct {
	Name, Status, Queue, Partition string
	Priority                       int
	ExecutorID                     string
	Application, Version           string
	Attempts, Refunds              int64
	ParentID                       string
	SubmittedAt, UpdatedAt         time.Time
	ClaimedAt, FinishedAt          *time.Time
	DelayedUntil, Deadline         *time.Time
	Losses                         *int64
	ReleasedAt                     *time.Time
	HomeQueue                      string
	ParkedAt                       *time.Time
	QuarantineReason               string
	QuarantinedAt, SettledAt       *time.Time
	SettleFailures                 int64
	DatabaseApplication            string
	Now                            time.Time
}

// Held reports whether the workflow is a suspect that waits for its release (X3).
func (s Standing) Held() bool { return s.Losses != nil && s.ReleasedAt == nil && s.Status == "PENDING" }

// Peers are living executors of one application and version.
type Peers struct {
	Live int64
	// LeaseMS is their lease, 0 without any: the scale of their timing.
	LeaseMS int64 `db:"lease_ms"`
}

// Timing is the profile of these executors.
func (p Peers) Timing() timing.Timing {
	return timing.OfLease(time.Duration(p.LeaseMS) * time.Millisecond)
}

// QueueRoom is what a queue's limits would let through. A limit that is nil does not bound.
type QueueRoom struct {
	PollMS      int64 `db:"poll_ms"`
	Partitioned bool
	// Global counts the workflows that run, of all executors. Worker is that limit times the living executors.
	GlobalLimit, WorkerLimit, RateLimit       *int64
	GlobalUsed, WorkerUsed, RateUsed          int64
	PartLimit, PartWorkerLimit, PartRateLimit *int64
	PartUsed, PartWorkerUsed, PartRateUsed    int64
	RateFreeAt, PartRateFreeAt                *time.Time
	// Ahead counts what is claimed before this workflow.
	Ahead       int64
	LastClaimAt *time.Time
}

// Holder is an executor that takes places of a queue.
type Holder struct {
	ExecutorID string `json:"executor_id"`
	// Lease is live, expired, revoked, released or unregistered.
	Lease     string `json:"lease"`
	Workflows int64  `json:"workflows"`
	// Held counts those of them that are held back (X3).
	Held int64 `json:"held"`
}

// SuspectTurn is whose turn it is among the suspects.
type SuspectTurn struct {
	// OnProbation is the workflow that was let go last and must prove itself; empty when none was.
	OnProbation string
	ReleasedAt  *time.Time
	Ahead       int64
}

// Takeover is one row of what was done with a workflow besides executing it.
type Takeover struct {
	HappenedAt      time.Time  `json:"happened_at"`
	Cause           string     `json:"cause"`
	Action          string     `json:"action"`
	LostExecutor    uuid.UUID  `json:"lost_executor"`
	ScannerExecutor *uuid.UUID `json:"scanner_executor"`
	Queue           string     `json:"queue,omitempty"`
	Attempts        int64      `json:"attempts"`
	Checkpoints     int64      `json:"checkpoints"`
}

// Explain reads the situation of a workflow; nil when there is no such workflow. Call it in Look.
func Explain(ctx context.Context, db Connection, workflowID string) (*Situation, error) {
	s := Situation{ID: workflowID}
	var err error
	if s.Workflow, err = row[Standing](ctx, db, explainWorkflowSQL, workflowID); errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read workflow: %w", err)
	}
	w := s.Workflow
	if s.State, err = stateOf(w.Status); err != nil {
		return nil, err
	}
	s.Delayed = w.Status == "DELAYED"
	if err := s.readOwner(ctx, db); err != nil {
		return nil, err
	}
	if s.Peers, err = ReadPeers(ctx, db, w.Application, w.Version); err != nil {
		return nil, err
	}
	if err := s.readQueue(ctx, db); err != nil {
		return nil, err
	}
	if w.Held() {
		turn, err := row[SuspectTurn](ctx, db, explainSuspectsSQL, workflowID, w.Application, w.Version)
		if err != nil {
			return nil, fmt.Errorf("read suspects: %w", err)
		}
		s.Suspects = &turn
	}
	if s.Takeovers, err = rows[Takeover](ctx, db, explainTakeoversSQL, workflowID); err != nil {
		return nil, fmt.Errorf("read takeovers: %w", err)
	}
	histories, err := Histories(ctx, db, []string{workflowID})
	if err != nil {
		return nil, err
	}
	s.Checkpoints = histories[0].Checkpoints
	return &s, nil
}

// ReadPeers counts the living executors of an application and version; an empty version stands for any.
func ReadPeers(ctx context.Context, db Connection, application, version string) (Peers, error) {
	peers, err := row[Peers](ctx, db, explainPeersSQL, application, version)
	if err != nil {
		return Peers{}, fmt.Errorf("read peers: %w", err)
	}
	return peers, nil
}

// readOwner: an owner that is no UUID was never one of ours.
func (s *Situation) readOwner(ctx context.Context, db Connection) (err error) {
	id, err := uuid.Parse(s.Workflow.ExecutorID)
	if err != nil {
		return nil //nolint:nilerr // then there is nothing to look up
	}
	s.Owner, err = ReadLease(ctx, db, id)
	return err
}

func (s *Situation) readQueue(ctx context.Context, db Connection) error {
	w := s.Workflow
	if s.State != Waiting || w.Queue == "" {
		return nil
	}
	room, err := row[QueueRoom](ctx, db, explainQueueSQL, w.Queue, w.Partition, w.Priority, w.SubmittedAt.UnixMilli())
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read queue: %w", err)
	}
	s.Queue = &room
	var partition *string
	if room.Partitioned {
		partition = &w.Partition
	}
	if s.Holders, err = rows[Holder](ctx, db, explainHoldersSQL, w.Queue, partition); err != nil {
		return fmt.Errorf("read queue holders: %w", err)
	}
	return nil
}

func row[T any](ctx context.Context, db Connection, sql string, args ...any) (value T, err error) {
	found, err := db.Query(ctx, sql, args...)
	if err != nil {
		return value, err
	}
	return pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[T])
}

func rows[T any](ctx context.Context, db Connection, sql string, args ...any) ([]T, error) {
	found, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}
