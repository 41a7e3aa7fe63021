// Package outbound owns the door through which a worker reaches other systems: immediately before each request the
// database confirms the lease, and too short a remainder is refused (F7, K5).
//
// The database is authoritative; a local deadline would say yes after a suspended machine. What was sent cannot be
// called back: an external effect can happen twice, and a lost lease proves nothing about what a provider did. So
// callers keep idempotency keys and an explicit unknown outcome. While nobody can confirm the lease, a request waits;
// it is never sent on trust. The package knows no provider. What reaches other systems in another way than HTTP calls
// a Confirm itself, before each call.
package outbound

import (
	"context"
	"fmt"
	"net/http"
)

// Confirm returns nil when the database confirmed that enough of the lease is left to send something. It waits while
// nobody can tell, past the deadline of a single request too, and returns an error only when ctx has ended by then: a
// caller must not take an outage of the database for one of its provider.
type Confirm func(ctx context.Context) error

// Transport is an http.RoundTripper that asks before it sends. Make it with NewTransport.
type Transport struct {
	confirm Confirm
	next    http.RoundTripper
}

// NewTransport returns a transport that sends through next what confirm let pass.
func NewTransport(confirm Confirm, next http.RoundTripper) *Transport {
	return &Transport{confirm: confirm, next: next}
}

// RoundTrip implements http.RoundTripper. Every redirect and every retry passes here again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.confirm(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTripper
		}
		return nil, fmt.Errorf("confirm lease before sending: %w", err)
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections lets an http.Client's method of that name reach the connections.
func (t *Transport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
