// Package settings owns the environment of a worker process: which variables exist, what they default to, what they
// accept, and the one table that documents them.
//
// The struct Settings is authoritative: its tags are read by Load, by the checks and by Table, so that a variable
// cannot be accepted without being documented. The package knows no service and opens nothing.
//
// Its answer to failure: Load looks at everything before it answers, and returns every fault in one error. No fault
// repeats a value: a password can be in any variable, also in the wrong one. Values that are secrets have the type
// Secret, which prints as a mark.
package settings
