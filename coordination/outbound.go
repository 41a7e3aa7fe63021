package coordination

import (
	"context"
	"net/http"
	"time"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/outbound"
	"github.com/kesita/platform/coordination/signal"
)

// Transport returns a transport that confirms the lease in the database before every request and then sends through
// next (F7). It is the only way out that workflow code may use.
func (r *Runtime) Transport(next http.RoundTripper) http.RoundTripper {
	return outbound.NewTransport(r.AwaitLease, r.config.Timing.OutboundMinimum(), next)
}

// AwaitLease returns nil when the database confirmed the lease with at least minimum left (K5). While the database does
// not answer, or too little is left, it asks again every Timing.LeaseCheckRetry until ctx ends. When the lease is lost
// it ends the process and returns only with ctx: the loss is no error of the caller's business.
func (r *Runtime) AwaitLease(ctx context.Context, minimum time.Duration) error {
	for {
		left, err := r.lease.Check(ctx)
		switch {
		case err == nil && left >= minimum:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case fault.Of(err) == fault.Fenced:
			r.dog.Trip(signal.LeaseLost)
			<-ctx.Done()
			return ctx.Err()
		}
		timer := time.NewTimer(r.config.Timing.LeaseCheckRetry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
