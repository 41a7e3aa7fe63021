// Package workflow owns what the SDK has no hook for: the place where every workflow and every step of a worker is
// entered and left. Lease checks, budgets, and the set of workflows that really run in this process live here.
//
// The journal is authoritative for what happened; the active set only for what runs here now. The package must not
// know any business. Its rule about failure: an error of the platform (database, lease, fence) is never recorded as
// the outcome of a step or of a workflow. It is waited out, or the process ends and a peer continues the work.
package workflow
