package coordination

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/outbound"
	"github.com/kesita/platform/coordination/signal"
)

// Transport returns a transport that confirms the lease in the database before every request and then sends through
// next (F7). It is the only way out that workflow code may use.
func (r *Runtime) Transport(next http.RoundTripper) http.RoundTripper {
	return outbound.NewTransport(r.ConfirmLease, next)
}

// ConfirmLease returns nil when the database confirmed at least Timing.OutboundMinimum of the lease (F7, K5). While the
// database does not answer, or too little is left, it asks again every Timing.LeaseCheckRetry. For a lost lease it ends
// the process and waits for that end. It returns an error only when ctx was cancelled, when the time of the whole step
// is up, or when the runtime stops; a deadline of ctx's own is about what it wants to call, and is reported only once
// the lease is confirmed: nothing was sent then.
func (r *Runtime) ConfirmLease(ctx context.Context) error {
	over := ctx.Done()
	for {
		left, err := r.lease.Check(context.WithoutCancel(ctx))
		switch {
		case err == nil && left >= r.config.Timing.OutboundMinimum():
			return ctx.Err()
		case fault.Of(err) == fault.Fenced:
			r.dog.Trip(signal.LeaseLost)
		}
		again := time.NewTimer(r.config.Timing.LeaseCheckRetry)
		select {
		case <-over:
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				again.Stop()
				return ctx.Err()
			}
			over = nil
		case <-r.sdk.Done():
			again.Stop()
			return r.sdk.Err()
		case <-again.C:
		}
	}
}
