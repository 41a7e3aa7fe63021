package workflow

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

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
		if err != nil && ctx.Err() == nil && ofPlatform(err) {
			return none, h.park(ctx, signal.CheckpointFailed, slog.String("workflow_id", id), signal.Fault(err))
		}
		return out, err
	}
	dbos.RegisterWorkflow(h.sdk, entered, dbos.WithWorkflowName(name), dbos.WithInstance(Definition(name)),
		dbos.WithMaxRecoveryAttempts(journal.MaxRecoveries))
}

// Enqueue starts a child workflow on a named, limited queue (K7): it runs wherever a slot is free, under the
// queue's limit, and survives this workflow's worker. Do not wait for a child on the parent's own queue. The same id
// enqueues once.
func Enqueue[P any](ctx Context, queue, name, id string, in P) error {
	h := hostOf(ctx)
	if queue == "" || queue == journal.InternalQueue {
		return fmt.Errorf("enqueue %s: a named queue is required", name)
	}
	_, err := dbos.Enqueue[any](ctx, queue, name, in, Options(h.config.Version, name, id)...)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case ofPlatform(err):
		return h.park(ctx, signal.CheckpointFailed, slog.String("workflow_id", id), signal.Fault(err))
	}
	return fmt.Errorf("enqueue %s: %w", name, err)
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
	var sdk *dbos.Error
	return errors.As(err, &sdk) && fault.Of(err) != fault.Unknown && fault.Of(err) != fault.None
}
