// Package lease owns one executor's lease: registering, renewing, checking and ending it.
//
// PostgreSQL is authoritative, by its own clock: a renewal is granted only while the lease is active and unexpired,
// and nothing brings an expired one back (D11). Local time serves one purpose, to stop trusting: the deadline is
// counted on the monotonic clock from the moment a renewal was *sent* (D10).
//
//	            renew (every Renew)
//	              +----+
//	              |    v
//	register --> active --- Release (after a clean stop) ---> released
//	              |
//	              +-------- Abandon, crash, pause: expiry ---> revoked by a peer
//
// Renewals run on a connection of their own: no business pool, however exhausted, can delay one. The package knows
// neither journal nor workflows. When the lease is lost it says so once and never renews again.
package lease
