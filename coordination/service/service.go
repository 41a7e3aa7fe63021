// Package service owns the one shape of every long-running part: Start, Stop, and a runOnce that its loop repeats.
//
// It is authoritative for the life of the goroutine only. It knows nothing of what a part does, holds no resource
// and never retries: a part's own runOnce decides what an error means.
package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrStopped is the cause of a loop's context when Stop ended it. Match with errors.Is on context.Cause.
var ErrStopped = errors.New("service stopped")

// Service is a part that runs until it is stopped.
type Service interface {
	// Start puts the part into the background and returns at once. A second Start does nothing.
	Start(ctx context.Context)
	// Stop ends it and returns when it really has ended. It may be called before Start and more than once.
	Stop()
}

// Loop runs one function over and over in the background. The zero value is not usable; see NewLoop.
type Loop struct {
	every func() time.Duration
	once  func(context.Context)

	// guards everything below
	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	done    chan struct{}
	stopped bool
}

// NewLoop returns a loop that calls once at once and then again every() after the previous call *began*, or right
// away when the call took longer.
func NewLoop(every func() time.Duration, once func(context.Context)) *Loop {
	return &Loop{every: every, once: once}
}

// Every is a fixed period for NewLoop.
func Every(period time.Duration) func() time.Duration {
	return func() time.Duration { return period }
}

// Start implements Service.
func (l *Loop) Start(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done != nil || l.stopped {
		return
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.done = make(chan struct{})
	go l.run(ctx, l.done)
}

// Stop implements Service.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.stopped = true
	cancel, done := l.cancel, l.done
	l.mu.Unlock()
	if done == nil {
		return
	}
	cancel(ErrStopped)
	<-done
}

func (l *Loop) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		began := time.Now()
		l.once(ctx)
		timer := time.NewTimer(l.every() - time.Since(began))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// Group is several services that start in order and stop in the reverse order.
type Group []Service

// Start implements Service.
func (g Group) Start(ctx context.Context) {
	for _, s := range g {
		s.Start(ctx)
	}
}

// Stop implements Service.
func (g Group) Stop() {
	for _, s := range slices.Backward(g) {
		s.Stop()
	}
}
