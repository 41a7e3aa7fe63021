package workflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/signal"
)

// Registrar is something that has a host: a Runtime.
type Registrar interface {
	Host() *Host
}

// Definition is how the SDK tells workflows apart that share a Go type. Its class name is recorded with each row.
type Definition string

// ConfigName implements dbos.ConfiguredInstance.
func (d Definition) ConfigName() string { return string(d) }

// ClassName is the class name that the SDK records for every workflow of the platform.
const ClassName = "Definition"

// Register makes fn known under name, before the runtime is launched. It gets three recoveries (P1). Inside, use
// RunStep for everything that reads a clock, the network or a database.
func Register[P, R any](rt Registrar, name string, fn func(ctx Context, in P) (R, error)) {
	h := rt.Host()
	h.mu.Lock()
	h.names[name] = true
	h.mu.Unlock()
	entered := func(ctx dbos.Context, in P) (R, error) {
		var none R
		id, err := dbos.GetWorkflowID(ctx)
		if err != nil {
			return none, fmt.Errorf("read workflow id: %w", err)
		}
		defer h.enter(id)()
		out, err := fn(ctx, in)
		switch {
		case errors.Is(err, dbos.ErrConflictingWorkflowID):
			return out, err // another run has it: this one is over, and its context must cancel nothing
		case ctx.Err() != nil:
			// Stopped or cancelled: whatever fn made of it is no outcome. The SDK takes a plain error for one when it
			// comes before the SDK's own hook on this context ran.
			return none, ctx.Err()
		case err == nil:
			return out, nil
		case ofPlatform(err):
			return none, h.park(ctx, signal.CheckpointFailed, slog.String("workflow_id", id), signal.Fault(err))
		case ofSDK(err):
			return out, err // it tells the SDK what to do: a conflict or a cancellation is no outcome
		}
		return out, failure(err)
	}
	dbos.RegisterWorkflow(h.sdk, entered, dbos.WithWorkflowName(name), dbos.WithInstance(Definition(name)),
		dbos.WithMaxRecoveryAttempts(journal.MaxRecoveries))
}

// Enqueue starts a child workflow on a named, limited queue (K7): it runs wherever a slot is free, under the
// queue's limit, and survives this workflow's worker. Do not wait for a child on the parent's own queue. The same id
// enqueues once, also when this workflow is replayed.
//
// It is a step of ours and not the SDK's enqueue inside a workflow: that one records an error of its insert, a lock
// timeout for example, as the step's outcome.
func Enqueue[P any](ctx Context, queue, name, id string, in P) error {
	if err := CheckQueue(queue); err != nil {
		return fmt.Errorf("enqueue %s: %w", name, err)
	}
	h := hostOf(ctx)
	_, err := RunStep(ctx, "enqueue "+name, func(context.Context) (string, error) {
		_, err := dbos.Enqueue[any](h.sdk, queue, name, in, Options(h.config.Version, name, id)...)
		return id, err
	}, Settle())
	return err
}

// ErrQueue says that work was sent to no queue or to the SDK's own, which has no limit (K7).
var ErrQueue = errors.New("a named queue is required")

// CheckQueue returns ErrQueue unless queue may take business work.
func CheckQueue(queue string) error {
	if queue == "" || queue == journal.InternalQueue {
		return ErrQueue
	}
	return nil
}

// Sleep waits durably: a recovered workflow sleeps for what is left. It holds its queue's slot. No budget applies (D8).
func Sleep(ctx Context, d time.Duration) error {
	_, err := dbos.Sleep(ctx, d)
	if err == nil || ctx.Err() != nil || !ofPlatform(err) {
		return err
	}
	id, _ := dbos.GetWorkflowID(ctx) // outside a workflow the SDK refused
	return hostOf(ctx).park(ctx, signal.CheckpointFailed, slog.String("workflow_id", id), signal.Fault(err))
}

// Options are the enqueue options that lead to a workflow made with Register.
func Options(version, name, id string) []dbos.EnqueueOption {
	return []dbos.EnqueueOption{
		dbos.WithEnqueueWorkflowID(id),
		dbos.WithEnqueueApplicationVersion(version),
		dbos.WithEnqueueClassName(ClassName),
		dbos.WithEnqueueConfigName(name),
	}
}

// ofPlatform reports whether err is about the journal or the lease and not about the workflow's business: the SDK
// wraps what its own writes and reads said, and keeps the chain. Any database error that comes out of the SDK counts,
// also one that nobody classified.
func ofPlatform(err error) bool {
	if fault.Infrastructure(err) {
		return true
	}
	var pg *pgconn.PgError
	return ofSDK(err) && (errors.As(err, &pg) || errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgx.ErrTxCommitRollback))
}

func ofSDK(err error) bool {
	var sdk *dbos.Error
	return errors.As(err, &sdk)
}
