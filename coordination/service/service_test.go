package service_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls notes when each call began, on the fake clock of a synctest bubble, and makes each take a while.
type calls struct {
	began time.Time
	list  []time.Duration
	take  []time.Duration
}

func (c *calls) once(context.Context) {
	n := len(c.list)
	c.list = append(c.list, time.Since(c.began))
	if n < len(c.take) {
		<-time.After(c.take[n])
	}
}

// D1: send to send. A call that takes 3 s of a 10 s period does not make the period 13 s.
func TestThePeriodIsMeasuredFromBeginToBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &calls{began: time.Now(), take: []time.Duration{3 * time.Second, 9 * time.Second}}
		l := service.NewLoop(service.Every(10*time.Second), c.once)
		l.Start(t.Context())
		<-time.After(35 * time.Second)
		l.Stop()
		require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}, c.list)
	})
}

func TestACallLongerThanThePeriodIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &calls{began: time.Now(), take: []time.Duration{25 * time.Second}}
		l := service.NewLoop(service.Every(10*time.Second), c.once)
		l.Start(t.Context())
		<-time.After(36 * time.Second)
		l.Stop()
		require.Equal(t, []time.Duration{0, 25 * time.Second, 35 * time.Second}, c.list, "once, and no burst to catch up")
	})
}

func TestAPeriodMayChangeFromCallToCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &calls{began: time.Now()}
		l := service.NewLoop(func() time.Duration { return time.Duration(len(c.list)) * time.Second }, c.once)
		l.Start(t.Context())
		<-time.After(7 * time.Second)
		l.Stop()
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}, c.list)
	})
}

func TestStopCancelsTheRunningCallSaysWhyAndWaitsForIt(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), atomic.Bool{}
	var cause error
	l := service.NewLoop(service.Every(time.Hour), func(ctx context.Context) {
		close(entered)
		<-ctx.Done()
		cause = context.Cause(ctx)
		ended.Store(true)
	})
	l.Start(t.Context())
	<-entered
	l.Stop()
	require.True(t, ended.Load())
	require.ErrorIs(t, cause, service.ErrStopped)
}

func TestStopDoesNotWaitForThePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := service.NewLoop(service.Every(time.Hour), func(context.Context) {})
		l.Start(t.Context())
		synctest.Wait()
		began := time.Now()
		l.Stop()
		require.Zero(t, time.Since(began))
	})
}

func TestTheEndOfTheCallersContextEndsTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &calls{began: time.Now()}
		l := service.NewLoop(service.Every(time.Second), c.once)
		l.Start(ctx)
		<-time.After(1500 * time.Millisecond)
		cancel()
		<-time.After(time.Minute)
		l.Stop()
		require.Len(t, c.list, 2)
	})
}

func TestALoopThatWasStoppedBeforeItsStartNeverRuns(t *testing.T) {
	t.Parallel()
	l := service.NewLoop(service.Every(0), func(context.Context) { t.Error("ran") })
	l.Stop()
	l.Start(t.Context())
	l.Stop()
}

// Any number of starts and stops at the same time: one loop at most, and it is over when any Stop returns.
func TestStartAndStopMayComeInAnyNumberAndOrder(t *testing.T) {
	t.Parallel()
	for range 200 {
		var running, most atomic.Int32
		l := service.NewLoop(service.Every(0), func(context.Context) {
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			running.Add(-1)
		})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if i%2 == 0 {
					l.Start(context.Background())
					return
				}
				l.Stop()
				if running.Load() != 0 {
					t.Error("still running behind Stop")
				}
			})
		}
		all.Wait()
		l.Stop()
		require.LessOrEqual(t, most.Load(), int32(1))
		require.Zero(t, running.Load())
	}
}

// note is a service that writes down what happens to it.
type note struct {
	name string
	log  *[]string
}

func (n note) Start(context.Context) { *n.log = append(*n.log, "start "+n.name) }
func (n note) Stop()                 { *n.log = append(*n.log, "stop "+n.name) }

func TestAGroupStopsInTheReverseOrder(t *testing.T) {
	t.Parallel()
	var log []string
	g := service.Group{note{"a", &log}, note{"b", &log}}
	g.Start(t.Context())
	g.Stop()
	require.Equal(t, []string{"start a", "start b", "stop b", "stop a"}, log)
	require.NotPanics(t, func() { service.Group(nil).Stop() })
}
