package summarise

import (
	"errors"
	"fmt"
)

// How a call fails. Match with errors.Is.
var (
	// ErrProviderUnavailable: not reached, busy or failing in every attempt.
	ErrProviderUnavailable = errors.New("provider is unavailable")
	// ErrProviderRefused: the provider will not take this request.
	ErrProviderRefused = errors.New("provider refused the request")
	// ErrProviderNonsense: an answer that keeps no contract.
	ErrProviderNonsense = errors.New("provider answered nonsense")
	// ErrOutcomeUnknown: a request was sent and its answer never came.
	ErrOutcomeUnknown = errors.New("outcome at the provider is unknown")
)

// Reason tells what the last attempt ended with. The list is closed.
type Reason string

// The reasons.
const (
	Unreachable      Reason = "unreachable"       // no connection
	TimedOut         Reason = "timed_out"         // no answer in time
	ConnectionLost   Reason = "connection_lost"   // cut before the answer was whole
	Busy             Reason = "busy"              // 429
	ServerError      Reason = "server_error"      // 5xx
	BadRequest       Reason = "bad_request"       // 400, 422
	Unauthorised     Reason = "unauthorised"      // 401, 403
	NotFound         Reason = "not_found"         // 404
	KeyReused        Reason = "key_reused"        // 409
	TooLarge         Reason = "too_large"         // 413
	UnexpectedStatus Reason = "unexpected_status" // every other status, redirects among them
	WrongMediaType   Reason = "wrong_media_type"
	TooLong          Reason = "too_long"   // more than ResponseBytes
	Unreadable       Reason = "unreadable" // not the contract's JSON
	Incomplete       Reason = "incomplete" // a field is missing, empty or no text
)

// Error is every error of a call that is about the provider.
type Error struct {
	// Kind is one of the sentinels.
	Kind   error
	Reason Reason
	// MayHaveActed is false only when the provider did nothing for sure.
	MayHaveActed bool
	// Attempts counts the requests of this call.
	Attempts int
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%v after %d attempts: %s", e.Kind, e.Attempts, e.Reason)
}

// Unwrap returns the sentinel, and never an error of the network.
func (e *Error) Unwrap() error { return e.Kind }
