// Package harness gives tests what they need to hurt workers and to watch them: real worker processes that can be
// paused and killed, a network between worker and database that can be cut, delayed and silenced, database errors
// at a chosen write, and waiting on rows and log lines. Tests only.
//
// The database is authoritative for what happened; the harness only asks it. It knows the fixture's shop and nothing
// of what a test proves. Nothing here waits for a fixed time: a condition that does not come true fails the test.
package harness
