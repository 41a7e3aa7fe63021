// Package operator owns what a person does to one executor: take it out of the game and have its work moved.
//
// The database's functions decide and commit; this package puts them into an order that ends, whatever the executor
// does meanwhile: expire it in a transaction of its own, so that nothing new of it is admitted; recover it; end its
// sessions when a transaction that was admitted does not end by itself. It needs the owner's login and knows no
// business. What it could not finish the ordinary scan finishes: an expired executor is everybody's to recover.
package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/timing"
)

var (
	// ErrUnknown says that neither the registry nor a pending workflow knows the executor.
	ErrUnknown = errors.New("executor is unknown")
	// ErrLive says that the executor is alive and force was not given.
	ErrLive = errors.New("executor is alive")
	// ErrUnregistered says that pending workflows name the executor, the registry does not know it, and force was not given.
	ErrUnregistered = errors.New("executor is not registered, but pending workflows name it")
	// ErrBusy says that its lease row stayed locked although its sessions were told to end.
	ErrBusy = errors.New("executor's lease row is locked")
)

// Revocation is what was done to an executor.
type Revocation struct {
	ExecutorID uuid.UUID `json:"executor_id"`
	// Before is the lease as it was found; nil when the registry did not know it.
	Before *journal.Lease `json:"-"`
	// Cause is expired, revoked or released: what the executor was when its work was moved.
	Cause string `json:"cause"`
	// Buried: the registry did not know it, and has its tombstone now.
	Buried bool `json:"buried"`
	// Reenqueued, Held and Quarantined are what became of its workflows.
	Reenqueued  int      `json:"reenqueued"`
	Held        int      `json:"held"`
	Quarantined []string `json:"quarantined"`
	// LastChance are the IDs of workflows that one more lost worker will quarantine.
	LastChance []string `json:"last_chance"`
	// SessionsEnded counts the sessions that held the recovery off and were told to end.
	SessionsEnded int `json:"sessions_ended"`
}

// Revoke ends an executor and moves its work. A dead one goes at once; a live one needs force, and its next write is
// refused from the first commit on, so that process ends by itself. It waits for an open transaction of the executor as
// long as one may last, then ends its sessions. pool must have the owner's login (journal.CheckOwner). Errors:
// ErrUnknown, ErrLive and ErrUnregistered without any effect; ErrBusy when the executor is expired but not yet revoked.
func Revoke(ctx context.Context, pool *pgxpool.Pool, executor uuid.UUID, force bool) (Revocation, error) {
	r := Revocation{ExecutorID: executor, Quarantined: []string{}, LastChance: []string{}}
	var named int64
	err := journal.Look(ctx, pool, func(tx pgx.Tx) (err error) {
		if r.Before, err = journal.ReadLease(ctx, tx, executor); err == nil && r.Before == nil {
			named, err = journal.CountPending(ctx, tx, executor)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	operator := journal.NewOperator(pool)
	state, err := operator.Expire(ctx, executor, force)
	switch {
	case err != nil:
		return r, err
	case state == "live":
		return r, ErrLive
	case state == "unknown" && named == 0:
		return r, ErrUnknown
	case state == "unknown" && !force:
		return r, fmt.Errorf("%w: %d", ErrUnregistered, named)
	case state == "unknown":
		if _, err := operator.Bury(ctx, executor); err != nil {
			return r, err
		}
		r.Buried = true
	}
	err = move(ctx, pool, &r)
	return r, err
}

// move recovers the executor; its row may be locked for as long as an admitted transaction lasts.
func move(ctx context.Context, pool *pgxpool.Pool, r *Revocation) error {
	t := timing.Production()
	if r.Before != nil {
		t = r.Before.Timing()
	}
	again := time.NewTicker(t.QueuePoll)
	defer again.Stop()
	began, ended := time.Now(), false
	for {
		done, err := journal.NewOperator(pool).Recover(ctx, r.ExecutorID)
		switch {
		case err != nil && fault.Of(err) != fault.Transient:
			return err
		case err == nil && done.Recovered():
			r.Cause, r.Reenqueued, r.Held = done.Cause, done.Reenqueued, done.Held
			r.Quarantined, r.LastChance = append(r.Quarantined, done.Quarantined...), append(r.LastChance, done.LastChance...)
			return nil
		}
		if time.Since(began) > t.Transaction {
			if ended {
				return ErrBusy
			}
			if r.SessionsEnded, err = lease.EndSessions(ctx, pool, r.ExecutorID); err != nil {
				return err
			}
			began, ended = time.Now(), true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}
