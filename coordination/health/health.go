// Package health owns what a worker says about itself over HTTP: /health/startup, /health/live and /health/ready.
//
// The runtime is authoritative; this package asks it and reports, with a reason code of the closed list for every
// check that fails. Live touches nothing but HTTP: a database that is away must not make a supervisor restart the
// fleet (H3). Health is not the takeover protocol and ends no process (H4). Before launch it says 503.
package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kesita/platform/coordination/signal"
)

// Check is one condition of readiness.
type Check struct {
	Name string
	// Reason is reported when Run returns an error.
	Reason signal.Reason
	Run    func(ctx context.Context) error
}

// Health serves the three paths. Make it with New.
type Health struct {
	log     *signal.Log
	timeout time.Duration

	// guards everything below
	mu        sync.Mutex
	launched  bool
	attempt   int
	nextDelay time.Duration
	checks    []Check
	ready     bool
}

// New returns a health that is not launched. timeout bounds one readiness evaluation.
func New(log *signal.Log, timeout time.Duration) *Health {
	return &Health{log: log, timeout: timeout}
}

// Starting notes a start-up attempt and the delay before the next one should this one fail.
func (h *Health) Starting(attempt int, nextDelay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launched, h.checks = false, nil
	h.attempt, h.nextDelay = attempt, nextDelay
}

// Launched makes the worker ready whenever all checks pass.
func (h *Health) Launched(checks []Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launched, h.checks = true, checks
}

// Stopping makes the worker unready for good.
func (h *Health) Stopping(ctx context.Context) {
	h.mu.Lock()
	h.launched, h.checks = false, nil
	h.mu.Unlock()
	h.turn(ctx, false, signal.Requested, "launch")
}

// Handler returns the HTTP handler of the three paths.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, body{Status: "live"})
	})
	mux.HandleFunc("GET /health/startup", h.startup)
	mux.HandleFunc("GET /health/ready", h.serveReady)
	return mux
}

type body struct {
	Status      string    `json:"status"`
	Attempt     int       `json:"attempt,omitempty"`
	NextDelayMS int64     `json:"next_delay_ms,omitempty"`
	Failing     []Failure `json:"failing,omitempty"`
}

func (h *Health) startup(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	launched, attempt, delay := h.launched, h.attempt, h.nextDelay
	h.mu.Unlock()
	if launched {
		answer(w, http.StatusOK, body{Status: "started", Attempt: attempt})
		return
	}
	answer(w, http.StatusServiceUnavailable, body{Status: "starting", Attempt: attempt, NextDelayMS: delay.Milliseconds()})
}

func (h *Health) serveReady(w http.ResponseWriter, r *http.Request) {
	failing := h.Evaluate(r.Context())
	if len(failing) == 0 {
		h.turn(r.Context(), true, signal.Ready, "")
		answer(w, http.StatusOK, body{Status: "ready"})
		return
	}
	h.turn(r.Context(), false, failing[0].Reason, failing[0].Check)
	answer(w, http.StatusServiceUnavailable, body{Status: "not ready", Failing: failing})
}

// Failure is a check that does not pass.
type Failure struct {
	Check  string        `json:"check"`
	Reason signal.Reason `json:"reason"`
}

// Evaluate runs every check and returns those that fail; empty means ready. A stop that comes meanwhile counts.
func (h *Health) Evaluate(ctx context.Context) []Failure {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	var failing []Failure
	_, checks := h.state()
	for _, c := range checks {
		if err := c.Run(ctx); err != nil {
			failing = append(failing, Failure{Check: c.Name, Reason: c.Reason})
		}
	}
	if launched, _ := h.state(); !launched {
		return []Failure{{Check: "launch", Reason: signal.NotReady}}
	}
	return failing
}

func (h *Health) state() (launched bool, checks []Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.launched, h.checks
}

// turn logs transitions only, never polls.
func (h *Health) turn(ctx context.Context, ready bool, reason signal.Reason, check string) {
	h.mu.Lock()
	changed := h.ready != ready
	h.ready = ready
	h.mu.Unlock()
	switch {
	case !changed:
	case ready:
		h.log.Info(ctx, signal.Readiness, reason)
	default:
		h.log.Warn(ctx, signal.Readiness, reason, slog.String("check", check))
	}
}

func answer(w http.ResponseWriter, status int, b body) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(b) // the client went away: nothing to tell it
}
