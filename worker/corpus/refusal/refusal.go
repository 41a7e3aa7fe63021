// Package refusal owns the closed list of reasons why the corpus does not index a document or a whole source.
//
// A code is what is stored, logged and counted; the text behind it is for people. The package knows neither files
// nor databases: whoever meets the fault chooses the code, once. An error without a code is no refusal but a fault of
// the platform, and never recorded against a document.
package refusal

import (
	"errors"
	"strings"
)

// Code is one reason. It is an error, so errors.Is(err, refusal.TooLarge) works on any wrapped error.
type Code string

// The reasons.
const (
	// EmptySource: a folder, container or prefix without a document in it.
	EmptySource Code = "empty_source"
	// Missing: nothing is there.
	Missing Code = "not_found"
	// Forbidden: the source lies outside of what this service may read, or carries credentials.
	Forbidden Code = "source_not_allowed"
	// UnknownSource: not a path and not a URL of a kind that is compiled in.
	UnknownSource Code = "source_kind_unknown"
	// NameTooLong: more bytes than the name of a source or of a document may have.
	NameTooLong Code = "name_too_long"
	// TooMany: more documents than one job may have.
	TooMany Code = "too_many_documents"
	// TooLarge: more bytes than one document may have.
	TooLarge Code = "document_too_large"
	// Unreadable: there, but the system or the server refuses to give it.
	Unreadable Code = "document_unreadable"
	// Binary: bytes that are no text in any encoding known here.
	Binary Code = "document_is_binary"
	// Unsupported: a known format that this service has no reader for.
	Unsupported Code = "document_format_unsupported"
	// NoText: readable, but nothing to index in it.
	NoText Code = "document_has_no_text"
	// Unavailable: a disturbance that can pass, and did not within the tries it got.
	Unavailable Code = "source_unavailable"
	// OverBudget: reading took more than the step's budget (D8).
	OverBudget Code = "step_over_budget"
	// NothingIndexed: a job in which every document was refused, for more than one reason.
	NothingIndexed Code = "nothing_indexed"
	// Exhausted: the job's workflow lost its last allowed worker (P3).
	Exhausted Code = "attempts_exhausted"
	// Internal: a fault of this service that waiting does not heal.
	Internal Code = "internal_error"
)

// Error implements error: the code in words.
func (c Code) Error() string { return strings.ReplaceAll(string(c), "_", " ") }

// Of returns the reason in err's chain; false when err is no refusal.
func Of(err error) (Code, bool) {
	var code Code
	found := errors.As(err, &code)
	return code, found
}

// Heals reports whether reading again later can succeed.
func Heals(err error) bool { return errors.Is(err, Unavailable) }
