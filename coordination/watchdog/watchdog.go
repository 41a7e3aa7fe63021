// Package watchdog owns the worker's own end: it notices that a part made no progress for too long, or is told of a
// fault that only a new process can cure, and bounds the time until the process is gone.
//
// Only the monotonic clock counts here, from the send time of the last success (D10). The watchdog knows part names
// and times, nothing else. Its answer to failure is the process's end: first the verdict, which starts an orderly stop,
// then, ForcedExit later, the exit itself, whatever the rest of the process is doing (D7).
package watchdog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Config is what a watchdog needs.
type Config struct {
	Timing timing.Timing
	Log    *signal.Log
	// Exit ends the process; production passes os.Exit.
	Exit func(code int)
	// Code is the exit code of a forced exit.
	Code int
}

// Watchdog watches named parts. Make it with New.
type Watchdog struct {
	config  Config
	loop    *service.Loop
	fate    atomic.Int32
	reason  atomic.Pointer[signal.Reason]
	verdict chan struct{}
	exit    *time.Timer
	retired chan struct{}

	// guards everything below
	mu    sync.Mutex
	parts map[string]part
}

// A watchdog's fate is decided once: by Trip or by Stop, whichever comes first.
const (
	watching int32 = iota
	condemned
	retired
)

type part struct {
	last    time.Time
	stalled signal.Reason
}

// New returns a watchdog that watches nothing yet. The goroutine that will end the process exists from here on: it
// takes no lock, logs nothing and allocates nothing, so neither a held lock nor a full heap can stop it (K9).
func New(config Config) *Watchdog {
	w := &Watchdog{config: config, verdict: make(chan struct{}), retired: make(chan struct{}), parts: map[string]part{}}
	w.exit = time.NewTimer(config.Timing.Lease)
	w.exit.Stop()
	exit, expired, retired, code := config.Exit, w.exit.C, w.retired, config.Code
	go func() {
		select {
		case <-expired:
			exit(code)
		case <-retired:
		}
	}()
	w.loop = service.NewLoop(service.Every(config.Timing.WatchdogTick), w.runOnce)
	return w
}

// Start implements service.Service.
func (w *Watchdog) Start(ctx context.Context) { w.loop.Start(ctx) }

// Stop ends the watching. A forced exit that was already decided still happens.
func (w *Watchdog) Stop() {
	w.loop.Stop()
	if w.fate.CompareAndSwap(watching, retired) {
		close(w.retired)
	}
}

// Watch adds a part that must show progress every Timing.Watchdog from now on; stalled is the reason it is named by.
func (w *Watchdog) Watch(name string, stalled signal.Reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[name] = part{last: time.Now(), stalled: stalled}
}

// Progress notes that a part succeeded with something it began at the given time. Times never move backwards.
func (w *Watchdog) Progress(name string, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, known := w.parts[name]; known && began.After(p.last) {
		p.last = began
		w.parts[name] = p
	}
}

// Ages returns how long ago each part's last success began.
func (w *Watchdog) Ages() map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	ages := make(map[string]time.Duration, len(w.parts))
	for name, p := range w.parts {
		ages[name] = time.Since(p.last)
	}
	return ages
}

// Trip gives the verdict at once: the process ends within Timing.ForcedExit. Later calls change nothing, nor does one
// that comes after Stop. It takes no lock, and the verdict is out before the line is written: a log that blocks holds
// only this caller.
func (w *Watchdog) Trip(reason signal.Reason, attrs ...slog.Attr) {
	if !w.fate.CompareAndSwap(watching, condemned) {
		return
	}
	w.exit.Reset(w.config.Timing.ForcedExit) // first of all: nothing below may delay it
	w.reason.Store(&reason)
	close(w.verdict)
	attrs = append(attrs, slog.Int64("forced_exit_ms", w.config.Timing.ForcedExit.Milliseconds()))
	w.config.Log.Error(context.Background(), signal.Watchdog, reason, attrs...)
}

// Verdict is closed when the watchdog gave up on this process.
func (w *Watchdog) Verdict() <-chan struct{} { return w.verdict }

// Reason is why, once Verdict is closed; before that it is empty.
func (w *Watchdog) Reason() signal.Reason {
	if reason := w.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

func (w *Watchdog) runOnce(context.Context) {
	stalled, name, age := w.stalled()
	if name != "" {
		w.Trip(stalled, slog.String("part", name), slog.Int64("age_ms", age.Milliseconds()))
	}
}

func (w *Watchdog) stalled() (reason signal.Reason, name string, age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, p := range w.parts {
		if since := time.Since(p.last); since > w.config.Timing.Watchdog && since > age {
			reason, name, age = p.stalled, n, since
		}
	}
	return reason, name, age
}
