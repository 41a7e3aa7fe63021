// Package guard owns the connections of a worker: every session that a worker opens is made here, so every session
// carries the executor's identity from its first byte (F1) and the time limits that bound its transactions (F3).
//
// The database is authoritative: its triggers admit or refuse each write. This package only makes sure that they can
// tell who asks. It must not know leases, journals or services. A connection string that leads anywhere else than
// the registry is an error (F5): two databases cannot be fenced by one lease.
package guard
