// Package provider is a small summary provider: an HTTP server that answers the
// contract in worker/provider/contract with extracts made by
// worker/provider/extract. The demo and the tests run it; production points
// PROVIDER_URL at any endpoint with the same contract.
//
// It owns its receipts, and nothing else is authoritative for what was executed
// under which key. Receipts live in memory for the life of the process: a
// restarted provider executes a key again, and the journal file, which outlives
// the process, then shows two executions. It knows nothing of tenants, tasks or
// databases, never logs a text, and has no authentication: bind it to loopback.
//
// Its answer to failure: a request that it cannot take is refused with a code of
// the contract and had no effect. Load above the limit is refused with 429 and
// Retry-After; nothing queues without bound. Faults for tests are in Faults and
// off by default.
package provider
