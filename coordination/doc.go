// Package coordination makes a fleet of DBOS Go workers survive the death, the hang and the freeze of any of them.
//
// A Runtime is one attempt of one process to be a worker. It is the only place that knows every mechanism:
//
//	boot -> lease -> guard (journal guards, pools) -> probe and queues -> guarded writes -> recovery
//	                  watchdog and health look on
//
// PostgreSQL is authoritative for everything that two workers could disagree about: who is alive, who may write, who
// takes over. Local time is used only to stop trusting. Fencing is cooperative: it stops a stale worker, not a
// malicious holder of the worker's database credentials (F10), and it covers writes to guarded tables, not
// calls to other systems, which can happen twice and need idempotency keys.
//
// The package must not know any service. Its answer to failure is always the same: refuse, and end the process, so
// that a fresh one or a peer continues from the checkpoints.
package coordination
