// Package retention owns the end of finished workflows: it deletes them when they are old enough, a small batch at a
// time. Nothing else ever deletes one, and the SDK of this version does not either.
//
// The database decides what may go (package journal); this package decides when to ask. Every worker asks, none waits
// for another: rows that one holds the others skip. A failed batch is signalled and tried again, smaller if it was too
// much for one transaction. A worker whose clean-up fails works on: nothing depends on it but disk space.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Limit is the most workflows of one batch.
const Limit = 500

// Journal is what the clean-up asks of the journal.
type Journal interface {
	Retire(ctx context.Context, age time.Duration, limit int, from journal.Place) (journal.Retired, error)
}

// Config is what a cleaner needs.
type Config struct {
	Journal Journal
	Timing  timing.Timing
	Log     *signal.Log
}

// Cleaner deletes one batch every Timing.RetentionEvery. Make it with New.
type Cleaner struct {
	config Config
	loop   *service.Loop
	// limit is the size of the next batch: halved when one was too large, doubled up to Limit when one was not.
	limit int
	// from is where this round goes on.
	from journal.Place
}

// New returns a cleaner that is not running yet.
func New(config Config) *Cleaner {
	c := &Cleaner{config: config, limit: Limit}
	c.loop = service.NewLoop(service.Every(config.Timing.RetentionEvery), func(ctx context.Context) { _, _ = c.RunOnce(ctx) })
	return c
}

// Start implements service.Service.
func (c *Cleaner) Start(ctx context.Context) { c.loop.Start(ctx) }

// Stop implements service.Service.
func (c *Cleaner) Stop() { c.loop.Stop() }

// RunOnce deletes one batch. Its error is that of the database; the place in the round is kept.
func (c *Cleaner) RunOnce(ctx context.Context) (journal.Retired, error) {
	done, err := c.config.Journal.Retire(ctx, c.config.Timing.Retention, c.limit, c.from)
	if err != nil {
		if fault.Of(err) == fault.Transient { // many steps a workflow: the statement took too long
			c.limit = max(1, c.limit/2)
		}
		if ctx.Err() == nil {
			c.config.Log.Warn(ctx, signal.Retention, signal.RetentionFailed, slog.Int("batch", c.limit), signal.Fault(err))
		}
		return done, err
	}
	c.limit, c.from = min(2*c.limit, Limit), done.Next
	if done.Deleted > 0 {
		c.config.Log.Info(ctx, signal.Retention, signal.WorkflowsDeleted, slog.Int("deleted", done.Deleted), slog.Int("examined", done.Examined))
	}
	return done, nil
}
