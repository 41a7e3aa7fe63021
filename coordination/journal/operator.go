package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"

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

// Operator is what a person may do to one executor or one workflow. Every function needs the owner's login: workers
// cannot call them. None has a bulk form (K10).
type Operator struct {
	db Connection
}

// NewOperator returns an operator on a connection of the database's owner.
func NewOperator(db Connection) Operator { return Operator{db: db} }

// Expire ends an executor's lease: expired when it is over now, ended when it was over before, live when it is in use
// and force was not given, unknown when there is no such executor. A live executor's next write is refused.
func (o Operator) Expire(ctx context.Context, executor uuid.UUID, force bool) (state string, err error) {
	if err := o.db.QueryRow(ctx, operatorExpireSQL, executor, force).Scan(&state); err != nil {
		return "", fmt.Errorf("expire executor: %w", err)
	}
	return state, nil
}

// Recover revokes an executor whose lease is over and moves its work, as a scan would.
func (o Operator) Recover(ctx context.Context, executor uuid.UUID) (Recovery, error) {
	return scanRecovery(o.db.QueryRow(ctx, operatorMoveSQL, executor, MaxAttempts, ClaimCeiling))
}

// Retry puts a quarantined workflow back into its queue with all its attempts: the protection is reset (P3). False:
// it is not quarantined.
func (o Operator) Retry(ctx context.Context, workflowID string) (done bool, err error) {
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
