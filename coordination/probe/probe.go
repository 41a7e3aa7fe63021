// Package probe owns the private diagnostic queue: one small workflow at a time that shows that this process's own
// queue runner still claims, executes and checkpoints (D4).
//
// The journal is authoritative: a probe counts when its recorded result was read back and its records are gone. A
// success proves nothing about business queues, which the SDK runs in goroutines of their own. The package knows no
// business capacity and no peers. A probe that does not come back is waited for, never doubled; the watchdog decides.
package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

const workflowName = "kesita.probe"

// Config is what a prober needs.
type Config struct {
	SDK dbos.Context
	// Queue is the private queue's name and the ID of its one workflow.
	Queue   string
	Version string
	Timing  timing.Timing
	Log     *signal.Log
	// Probed is told when a probe that came back began.
	Probed func(began time.Time)
}

// Prober sends a probe every Timing.Probe, one outstanding. Make it with New.
type Prober struct {
	config Config
	loop   *service.Loop
}

// New registers the diagnostic workflow. Call it before the SDK is launched.
func New(config Config) *Prober {
	p := &Prober{config: config}
	p.loop = service.NewLoop(service.Every(config.Timing.Probe), func(ctx context.Context) { _ = p.RunOnce(ctx) })
	dbos.RegisterWorkflow(config.SDK, answer, dbos.WithWorkflowName(workflowName), dbos.WithMaxRecoveryAttempts(0))
	return p
}

// Register creates the private queue, concurrency one. The lease must be valid: it is a guarded write.
func (p *Prober) Register() error {
	_, err := dbos.RegisterQueue(p.config.SDK, p.config.Queue, dbos.WithGlobalConcurrency(1), dbos.WithWorkerConcurrency(1),
		dbos.WithQueueBasePollingInterval(p.config.Timing.QueuePoll))
	if err != nil {
		return fmt.Errorf("register private queue: %w", err)
	}
	return nil
}

// Start implements service.Service.
func (p *Prober) Start(ctx context.Context) { p.loop.Start(ctx) }

// Stop implements service.Service.
func (p *Prober) Stop() { p.loop.Stop() }

// RunOnce sends one probe, waits for its result and deletes its records (D13). The workflow ID is fixed, so a probe
// that an earlier call gave up on is joined instead of doubled.
func (p *Prober) RunOnce(ctx context.Context) error {
	began := time.Now()
	err := p.roundTrip(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.config.Log.Warn(ctx, signal.Coordination, signal.ProbeFailed, signal.Fault(err))
		}
		return err
	}
	p.config.Probed(began)
	return nil
}

func (p *Prober) roundTrip(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timing.Probe)
	defer cancel()
	sdk := dbos.From(p.config.SDK, ctx)
	handle, err := dbos.Enqueue[string](sdk, p.config.Queue, workflowName, "", dbos.WithEnqueueWorkflowID(p.config.Queue),
		dbos.WithEnqueueApplicationVersion(p.config.Version))
	if err != nil {
		return fmt.Errorf("send probe: %w", err)
	}
	if _, err := handle.GetResult(dbos.WithHandleTimeout(p.config.Timing.Probe), dbos.WithHandlePollingInterval(p.config.Timing.QueuePoll)); err != nil {
		return fmt.Errorf("await probe: %w", err)
	}
	if err := dbos.DeleteWorkflows(sdk, []string{p.config.Queue}); err != nil && !errors.Is(err, dbos.ErrNonExistentWorkflow) {
		return fmt.Errorf("delete probe: %w", err)
	}
	return nil
}

func answer(_ dbos.Context, _ string) (string, error) { return "ok", nil }
