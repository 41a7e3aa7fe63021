package coordination_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// provider is another system that counts what reaches it, and a client that leads there through the runtime's guard.
type provider struct {
	url     string
	hits    atomic.Int64
	connect *http.Transport
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{connect: &http.Transport{}}
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.hits.Add(1) }))
	p.url = s.URL
	t.Cleanup(func() { p.connect.CloseIdleConnections(); s.Close() })
	return p
}

// call sends one request; patience is the caller's own deadline, 0 for none.
func (p *provider) call(ctx context.Context, r *replica, patience time.Duration) error {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: r.Transport(p.connect)}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// F7: the database says that the lease is over; nothing is sent, the process ends, and the caller gets no answer that it
// could take for its provider's.
func TestNothingIsSentAfterTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	p := newProvider(t)
	r := launch(t, config(d), func(*replica) {})
	require.NoError(t, p.call(t.Context(), r, 0))
	require.EqualValues(t, 1, p.hits.Load())
	expire(t, d, r)
	answered := make(chan error, 1)
	go func() { answered <- p.call(context.Background(), r, time.Millisecond) }()
	<-r.Verdict()
	r.awaitExit(t)
	require.Empty(t, answered, "no answer before the process is gone, its own deadline or not")
	require.Error(t, r.stop(t.Context()))
	require.ErrorIs(t, <-answered, context.Canceled)
	require.EqualValues(t, 1, p.hits.Load())
}

// F7, K5: in an outage the step waits, past the deadline of its request too; the provider is not blamed and hears
// nothing. When the database is back the request goes out, once.
func TestARequestWaitsForTheDatabaseAndIsThenSent(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	p := newProvider(t)
	r, network := between(t, d, pace(), func(r *replica) {
		workflow.Register(r, "shop.order", func(ctx workflow.Context, id string) (string, error) {
			return workflow.RunStep(ctx, "call", func(ctx context.Context) (string, error) { return id, p.call(ctx, r, 0) })
		})
	})
	network.Cut()
	sent := make(chan error, 2)
	go func() { sent <- p.call(context.Background(), r, 0) }()
	impatient := make(chan error, 1)
	go func() { impatient <- p.call(context.Background(), r, time.Millisecond) }()
	failed := r.log.count(signal.Coordination, signal.RenewalFailed)
	harness.Await(t, "a renewal failed", func() bool { return r.log.count(signal.Coordination, signal.RenewalFailed) > failed })
	require.Empty(t, sent)
	require.Empty(t, impatient)
	require.Zero(t, p.hits.Load())
	network.Heal()
	require.NoError(t, <-sent)
	require.ErrorIs(t, <-impatient, context.DeadlineExceeded, "only now, and nothing was sent")
	require.EqualValues(t, 1, p.hits.Load())
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitStatus(t, "SUCCESS", "a")
	require.EqualValues(t, 2, p.hits.Load())
	require.False(t, r.condemned())
	require.NoError(t, r.stop(t.Context()))
}

// F7: with less of the lease left than the watchdog and the forced exit leave, a request waits for the next renewal.
func TestARequestWaitsUntilEnoughOfTheLeaseIsLeft(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	p := newProvider(t)
	r := launch(t, config(d), func(*replica) {})
	left := func() string {
		return o.Text(t, `select expires_at - clock_timestamp() >= $2 * interval '1 ms' from workflow_coordination.executor where executor_id = $1`,
			r.ExecutorID(), pace().OutboundMinimum().Milliseconds())
	}
	require.Equal(t, "true", left())
	o.Exec(t, `update workflow_coordination.executor set expires_at = clock_timestamp() + $2 * interval '1 ms' where executor_id = $1`,
		r.ExecutorID(), pace().OutboundMinimum().Milliseconds()-1)
	require.Equal(t, "false", left())
	require.NoError(t, p.call(t.Context(), r, 0))
	require.Equal(t, "true", left(), "it was sent after the renewal")
	require.EqualValues(t, 1, p.hits.Load())
	require.NoError(t, r.stop(t.Context()))
}

// The end of the step ends the wait: a stop in an outage does not hang on a request.
func TestACancelledRequestDoesNotWait(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	p := newProvider(t)
	r, network := between(t, d, pace(), func(*replica) {})
	network.Cut()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() { answered <- p.call(ctx, r, 0) }()
	cancel()
	require.ErrorIs(t, <-answered, context.Canceled)
	budget, end := context.WithTimeoutCause(t.Context(), time.Millisecond, workflow.ErrStepBudget)
	defer end()
	require.ErrorIs(t, p.call(budget, r, 0), context.DeadlineExceeded)
	require.Zero(t, p.hits.Load())
	network.Heal()
	require.NoError(t, r.stop(t.Context()))
}
