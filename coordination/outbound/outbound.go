// Package outbound owns the door through which a worker reaches other systems: immediately before each request the
// database confirms the lease, and too short a remainder is refused (F7, K5).
//
// The database is authoritative; a local deadline would say yes after a suspended machine. What was sent cannot be
// called back: an external effect can happen twice, and a lost lease proves nothing about what a provider did. So
// callers keep idempotency keys and an explicit unknown outcome. While nobody can confirm the lease, a request waits
// inside its own deadline; it is never sent on trust. The package knows no provider.
package outbound

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// AwaitLease returns nil when the database confirmed the lease with at least minimum left. It waits while nobody can
// tell, until ctx ends, and does not return at all for a lost lease before the process ends.
type AwaitLease func(ctx context.Context, minimum time.Duration) error

// Transport is an http.RoundTripper that asks before it sends. Make it with NewTransport.
type Transport struct {
	await   AwaitLease
	minimum time.Duration
	next    http.RoundTripper
}

// NewTransport returns a transport that sends through next once await confirmed at least minimum of the lease.
func NewTransport(await AwaitLease, minimum time.Duration, next http.RoundTripper) *Transport {
	return &Transport{await: await, minimum: minimum, next: next}
}

// RoundTrip implements http.RoundTripper. Every redirect and every retry passes here again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.await(r.Context(), t.minimum); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTripper
		}
		return nil, fmt.Errorf("confirm lease before sending: %w", err)
	}
	return t.next.RoundTrip(r)
}
