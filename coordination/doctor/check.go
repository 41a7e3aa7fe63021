package doctor

// Check names one thing that is examined. The list is closed: scripts may rely on it.
type Check string

// The checks.
const (
	// Fence: bad identities are refused, tried on every table (F2, K2).
	Fence Check = "fence"
	// GuardFunction: the fence's functions are those of this release.
	GuardFunction Check = "guard_function"
	// UnguardedTable: every table, partition and foreign table that a worker may write has the whole guard (F6).
	UnguardedTable Check = "unguarded_table"
	// WorkerRights: worker logins own nothing and may change nothing of the fence (K1, K2).
	WorkerRights Check = "worker_rights"
	// PreparedTransaction: no prepared transaction of a worker holds a lease row (K4).
	PreparedTransaction Check = "prepared_transaction"
	// CoordinationSchema: the coordination schema is not older than this release.
	CoordinationSchema Check = "coordination_schema"
	// Catalog: the journal's catalog is the supported one (C7).
	Catalog Check = "catalog"
	// ExpiredExecutor: expired executors were revoked.
	ExpiredExecutor Check = "expired_executor"
	// OrphanedPending: no pending work belongs to an executor that is over.
	OrphanedPending Check = "orphaned_pending"
	// MissingRegistryRow: the owners of pending work are in the registry (O4).
	MissingRegistryRow Check = "missing_registry_row"
	// StrandedVersion: every version that has work has a living executor (O4).
	StrandedVersion Check = "stranded_version"
	// EmptyWorkflowID: no workflow has the empty ID.
	EmptyWorkflowID Check = "empty_workflow_id"
	// SlowPending: pending work of living owners goes on.
	SlowPending Check = "slow_pending"
	// BlockedQueue: no queue's places are taken by executors that are over or by held suspects.
	BlockedQueue Check = "blocked_queue"
	// UnservedQueue: every queue with work is registered and polled.
	UnservedQueue Check = "unserved_queue"
	// Quarantined: no quarantined work waits for an operator (P2).
	Quarantined Check = "quarantined"
	// Unsettled: the business state of quarantined work is settled (P3).
	Unsettled Check = "unsettled"
	// Parked: no work was taken out of its queue because nobody knew its name (X2).
	Parked Check = "parked"
	// HeldSuspect: no work is held back (X3).
	HeldSuspect Check = "held_suspect"
	// LastAttempt: no work is one lost worker away from its quarantine (P2).
	LastAttempt Check = "last_attempt"
	// AbandonedQueue: no private queue outlived its executor (D13).
	AbandonedQueue Check = "abandoned_queue"
)

// check is a row of the table of checks.
type check struct {
	id Check
	// query: made by journal.Symptoms under the check's name.
	query  bool
	ok     string
	remedy string // {} stands for the object
}

// Checks is the closed list, in the order of a report.
func Checks() []Check {
	var list []Check
	for _, c := range checks() {
		list = append(list, c.id)
	}
	return list
}

func checks() []check {
	return []check{
		{Fence, false, "every write with a bad identity was refused, on every table", "stop the workers of this database until the guard is whole: run the migration of this service, then kesita doctor again"},
		{GuardFunction, false, "the functions of the fence are those of this release", "run the migration of this release; if that was done, find out who changed {}"},
		{UnguardedTable, false, "every table that workers may write carries the guard", "call workflow_coordination.guard_table('{}') in a migration of the service, and run it; a journal table gets its guard back at the next start of a worker"},
		{WorkerRights, false, "worker logins own nothing and may change nothing of the fence", "take the right away from the worker login, as the owner or an administrator; the migration grants what it needs"},
		{PreparedTransaction, false, "no prepared transaction of a worker login", "as that login or an administrator: rollback prepared '{}'"},
		{CoordinationSchema, false, "not older than this release", "run the migration of this release"},
		{Catalog, false, "the journal's catalog is the supported one", "run worker, migration and this program of one release"},
		{ExpiredExecutor, true, "no expired executor waits for its revocation", "kesita executors revoke {}"},
		{OrphanedPending, true, "no pending work of executors that are over", "kesita executors revoke {}; without a living peer, start a worker of the same version"},
		{MissingRegistryRow, true, "every owner of pending work is registered", "make sure that no such process runs, then: kesita executors revoke {} --force"},
		{StrandedVersion, true, "every version with unfinished work has a living executor", "start a worker of exactly this application and version: {}"},
		{EmptyWorkflowID, true, "no workflow has an empty ID", "find out what submits without an ID; as the owner, cancel it in the journal: nothing recovers it"},
		{SlowPending, true, "in all pending work of living owners steps go on", "kesita explain {}"},
		{BlockedQueue, true, "no queue is blocked by work that does not run", "kesita explain a waiting workflow of queue {}; a takeover or the release of held work frees the places"},
		{UnservedQueue, true, "every queue with work is served", "start a worker that serves queue {}"},
		{Quarantined, true, "no quarantined work", "repair the cause, then: kesita quarantine retry {} --yes"},
		{Unsettled, true, "no unsettled work", "look at the workers' log for workflow_recovery_settlement of {}"},
		{Parked, true, "no parked work", "deploy a worker that knows the name, then: kesita quarantine unpark {}"},
		{HeldSuspect, true, "no work is held back", "kesita quarantine list; held work is released one at a time, by itself"},
		{LastAttempt, true, "no work is one lost worker away from quarantine", "if it did not cause the losses: kesita quarantine grant {}"},
		{AbandonedQueue, true, "no abandoned private queues", "a scan of a living peer removes it; without one, start a worker; of an unknown executor, delete queue {} as the owner"},
	}
}
