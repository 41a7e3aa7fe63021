package workflow

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Context is the context of a workflow.
type Context = dbos.Context

// Config is what a host needs.
type Config struct {
	Version string
	Timing  timing.Timing
	Log     *signal.Log
	// CheckLease asks the database whether this executor may go on (K5).
	CheckLease func(ctx context.Context) (left time.Duration, err error)
	// Trip ends this process through the watchdog.
	Trip func(reason signal.Reason, attrs ...slog.Attr)
}

// Host runs workflows for one executor.
type Host struct {
	config Config
	sdk    dbos.Context

	// guards everything below
	mu     sync.Mutex
	active map[string]time.Time
	// left is when a workflow was last left; entries older than Timing.Lease are forgotten.
	left  map[string]time.Time
	names map[string]bool
}

type hostKey struct{}

// NewHost returns a host that is not attached to an SDK context yet.
func NewHost(config Config) *Host {
	recordFailures()
	return &Host{config: config, active: map[string]time.Time{}, left: map[string]time.Time{}, names: map[string]bool{}}
}

// Bind returns a context from which RunStep and Enqueue find the host. The SDK's root must be derived from it.
func (h *Host) Bind(ctx context.Context) context.Context { return context.WithValue(ctx, hostKey{}, h) }

// Attach tells the host the SDK's root context.
func (h *Host) Attach(sdk dbos.Context) { h.sdk = sdk }

// Active returns the IDs of the workflows that run in this process, with the time at which each was entered.
func (h *Host) Active() map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.active)
}

// Knows reports whether a claimed workflow of this name can be run here: whether Register made it, and the row says so.
func (h *Host) Knows(name, configName string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names[name] && configName == Definition(name).ConfigName()
}

func hostOf(ctx context.Context) *Host {
	h, ok := ctx.Value(hostKey{}).(*Host)
	if !ok {
		panic("workflow: context does not come from a runtime")
	}
	return h
}

func (h *Host) enter(id string) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active[id] = time.Now()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.active, id)
		h.forget()
		h.left[id] = time.Now()
	}
}

func (h *Host) forget() {
	for id, at := range h.left {
		if time.Since(at) > h.config.Timing.Lease {
			delete(h.left, id)
		}
	}
}

// RanSince reports whether the workflow runs here or was left after that time, at most Timing.Lease ago (X2).
func (h *Host) RanSince(id string, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, active := h.active[id]
	left, known := h.left[id]
	return active || known && left.After(since)
}

// park ends the process through the watchdog and blocks until the SDK's root is cancelled or the process is gone: a
// returned error would be written down as the workflow's own failure.
func (h *Host) park(ctx context.Context, reason signal.Reason, attrs ...slog.Attr) error {
	h.config.Trip(reason, attrs...)
	<-ctx.Done()
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
