package journal

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

//go:embed sql/operator_expire.sql
var operatorExpireSQL string

//go:embed sql/operator_move.sql
var operatorMoveSQL string

//go:embed sql/operator_retry.sql
var operatorRetrySQL string

//go:embed sql/operator_grant.sql
var operatorGrantSQL string

//go:embed sql/operator_unpark.sql
var operatorUnparkSQL string

//go:embed sql/operator_bury.sql
var operatorBurySQL string

//go:embed sql/operator_login.sql
var operatorLoginSQL string

//go:embed sql/operator_duplicate.sql
var operatorDuplicateSQL string

//go:embed sql/operator_list.sql
var operatorListSQL string

// ErrNotOwner says that the login may not act as the owner of the database. Match with errors.Is.
var ErrNotOwner = errors.New("login is not the owner of this database")

// ErrDuplicate says that a quarantined workflow cannot be retried while another one of its queue has its deduplication ID.
var ErrDuplicate = errors.New("another workflow of the queue has its deduplication ID")

// ErrMixedWork says that an unregistered executor is named by work of several applications or versions, or of none.
var ErrMixedWork = errors.New("work of several applications or versions names this executor")

// Operator is what a person may do to one executor or one workflow. Every function needs the owner's login: workers
// cannot call them. None has a bulk form (K10).
type Operator struct {
	db Connection
}

// NewOperator returns an operator on a connection of the database's owner.
func NewOperator(db Connection) Operator { return Operator{db: db} }

// CheckOwner returns ErrNotOwner, with both names, unless the login owns the database's coordination or may act as
// the role that does.
func CheckOwner(ctx context.Context, db Connection) error {
	var login, owner string
	var is bool
	if err := db.QueryRow(ctx, operatorLoginSQL).Scan(&login, &owner, &is); err != nil {
		return fmt.Errorf("check login: %w", err)
	}
	if !is {
		return fmt.Errorf("%w: it is %s, the owner is %s", ErrNotOwner, login, owner)
	}
	return nil
}

// Expire ends an executor's lease: expired when it is over now, ended when it was over before, live when it is in use
// and force was not given, unknown when there is no such executor. A live executor's next write is refused.
func (o Operator) Expire(ctx context.Context, executor uuid.UUID, force bool) (state string, err error) {
	if err := o.db.QueryRow(ctx, operatorExpireSQL, executor, force).Scan(&state); err != nil {
		return "", fmt.Errorf("expire executor: %w", err)
	}
	return state, nil
}

// Bury writes the tombstone of an executor that the registry does not know, from the pending workflows that name it,
// and returns how many there are. The next scan recovers them. 0: nothing names it, nothing was written.
func (o Operator) Bury(ctx context.Context, executor uuid.UUID) (workflows int64, err error) {
	if err := o.db.QueryRow(ctx, operatorBurySQL, executor).Scan(&workflows); err != nil {
		return 0, fmt.Errorf("bury executor: %w", err)
	}
	if workflows < 0 {
		return 0, fmt.Errorf("bury executor: %w", ErrMixedWork)
	}
	return workflows, nil
}

// Recover revokes an executor whose lease is over and moves its work, as a scan would.
func (o Operator) Recover(ctx context.Context, executor uuid.UUID) (Recovery, error) {
	r, err := scanRecovery(o.db.QueryRow(ctx, operatorMoveSQL, executor, MaxAttempts, ClaimCeiling))
	if err != nil {
		return Recovery{}, fmt.Errorf("recover executor %s: %w", executor, err)
	}
	return r, nil
}

// Retry puts a quarantined workflow back into its queue with all its attempts: the protection is reset (P3). False:
// it is not quarantined. ErrDuplicate changes nothing.
func (o Operator) Retry(ctx context.Context, workflowID string) (done bool, err error) {
	var duplicate bool
	if err := o.db.QueryRow(ctx, operatorDuplicateSQL, workflowID).Scan(&duplicate); err != nil {
		return false, fmt.Errorf("retry workflow: %w", err)
	}
	if duplicate {
		return false, fmt.Errorf("retry workflow: %w", ErrDuplicate)
	}
	if err := o.db.QueryRow(ctx, operatorRetrySQL, workflowID).Scan(&done); err != nil {
		return false, fmt.Errorf("retry workflow: %w", err)
	}
	return done, nil
}

// Grant gives one unfinished workflow its attempts back and returns how many it had used; nil when there is none.
func (o Operator) Grant(ctx context.Context, workflowID string) (before *int64, err error) {
	if err := o.db.QueryRow(ctx, operatorGrantSQL, workflowID).Scan(&before); err != nil {
		return nil, fmt.Errorf("grant attempts: %w", err)
	}
	return before, nil
}

// Unpark puts a parked workflow back into its queue. False: it is not parked.
func (o Operator) Unpark(ctx context.Context, workflowID string) (done bool, err error) {
	if err := o.db.QueryRow(ctx, operatorUnparkSQL, workflowID).Scan(&done); err != nil {
		return false, fmt.Errorf("unpark workflow: %w", err)
	}
	return done, nil
}

// Waits is a workflow that waits for an operator or, when it is held, for its turn.
type Waits struct {
	// Kind is quarantined, parked or held.
	Kind       string `json:"kind"`
	WorkflowID string `json:"workflow_id"`
	Name       string `json:"name"`
	Queue      string `json:"queue"`
	Attempts   int64  `json:"attempts"`
	// Reason is attempts_exhausted, claim_ceiling, unknown_workflow or lost_workers.
	Reason string `json:"reason"`
	// ExecutorID is who was lost with it, or who parked it.
	ExecutorID string    `json:"executor_id"`
	Since      time.Time `json:"since"`
	// SettledAt is when the business state of a quarantined workflow was settled as failed.
	SettledAt      *time.Time `json:"settled_at"`
	SettleFailures int64      `json:"settle_failures"`
}

// Waiters lists at most limit of the quarantined, parked and held workflows, the longest first. Reading is not
// guarded: any login that may read will do.
func Waiters(ctx context.Context, db Connection, limit int) ([]Waits, error) {
	list, err := rows[Waits](ctx, db, operatorListSQL, limit)
	if err != nil {
		return nil, fmt.Errorf("list quarantine: %w", err)
	}
	return list, nil
}
