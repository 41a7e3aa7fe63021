package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/release_suspect.sql
var releaseSuspectSQL string

//go:embed sql/own_claims.sql
var ownClaimsSQL string

//go:embed sql/return_claim.sql
var returnClaimSQL string

// ReleaseSuspect lets the next workflow that lost two workers or more go, when none is on probation, and returns its
// ID; empty when there is none or another scanner is at it (X3). Probation ends when the workflow does, or when it
// has run that long.
func (j *Journal) ReleaseSuspect(ctx context.Context, probation time.Duration) (workflowID string, err error) {
	if err := j.control.QueryRow(ctx, releaseSuspectSQL, j.executor, probation.Milliseconds()).Scan(&workflowID); err != nil {
		return "", fmt.Errorf("release suspect: %w", err)
	}
	return workflowID, nil
}

// Claim is a workflow that an executor claimed and that is still pending.
type Claim struct {
	WorkflowID, WorkflowName string
	// ConfigName tells workflows apart that share a name, as the SDK sees it.
	ConfigName string
	// Number identifies the claim: a later one of the same workflow has another.
	Number int64
	// Age is the time since the claim, by the database's clock.
	Age time.Duration
}

// OwnClaims lists the executor's pending workflows, its probe left out (X2).
func (j *Journal) OwnClaims(ctx context.Context) ([]Claim, error) {
	rows, err := j.control.Query(ctx, ownClaimsSQL, j.executor)
	if err != nil {
		return nil, fmt.Errorf("list own claims: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Claim, err error) {
		var age int64
		err = row.Scan(&c.WorkflowID, &c.WorkflowName, &c.ConfigName, &c.Number, &age)
		c.Age = time.Duration(age) * time.Millisecond
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("list own claims: %w", err)
	}
	return list, nil
}

// Return is how a claim that nobody runs goes back.
type Return struct {
	// Refund takes the claim back from the attempts, not from the claims: it never ran.
	Refund bool
	// Park takes the workflow out of its queue: nobody knows its name.
	Park bool
}

// Returned is what became of a claim that went back.
type Returned string

// What can become of it.
const (
	// MovedOn: it is not that claim any more; nothing was done.
	MovedOn Returned = ""
	// BackInQueue: it waits for a claim.
	BackInQueue Returned = "returned"
	// Parked: it waits for an operator.
	Parked Returned = "parked"
	// OutOfAttempts: it was quarantined, because it had no attempt or no claim left (P2, K3).
	OutOfAttempts Returned = "quarantined"
)

// ReturnClaim puts a claim back, if it is still the same claim (X2).
func (j *Journal) ReturnClaim(ctx context.Context, c Claim, how Return) (done Returned, err error) {
	row := j.control.QueryRow(ctx, returnClaimSQL, j.executor, c.WorkflowID, c.Number, how.Refund, how.Park, MaxAttempts, ClaimCeiling)
	if err := row.Scan(&done); err != nil {
		return MovedOn, fmt.Errorf("return claim of %s: %w", c.WorkflowID, err)
	}
	return done, nil
}
