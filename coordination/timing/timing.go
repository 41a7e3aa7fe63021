// Package timing owns every duration of the coordination runtime, in one value.
//
// It is authoritative for budgets and for the inequalities between them; nothing else in the platform carries a
// duration of its own. It must not know what the durations are used for beyond those inequalities. A profile that
// could let two workers act at once is not a warning but an error.
package timing

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsafe marks a profile whose budgets contradict each other. Match with errors.Is.
var ErrUnsafe = errors.New("unsafe timing")

// MigrationPoll is the pause between two attempts to become the one migration of a database. It is no promise and does
// not scale.
const MigrationPoll = 200 * time.Millisecond

// Timing holds every duration of the runtime. Build it with Production and Scale; check it with Validate.
type Timing struct {
	// Renew is the period between two lease renewals, send to send. Production 10 s (D1).
	Renew time.Duration
	// RenewAttempt bounds one renewal, from its send. Production 5 s.
	RenewAttempt time.Duration
	// Lease is the validity counted by the database's clock from a renewal. Production 75 s (D2).
	Lease time.Duration
	// LeaseCheck bounds the round trip before a step or an outbound call. Production 2 s (K5).
	LeaseCheck time.Duration
	// LeaseCheckRetry is the pause between two lease checks while the database does not answer. Production 500 ms.
	LeaseCheckRetry time.Duration

	// Scan is the period of the recovery scan. Production 5 s (D3).
	Scan time.Duration
	// RowLock bounds the wait for a workflow row inside one recovery transaction. Production 2 s (K6).
	RowLock time.Duration

	// Probation is how long a workflow that lost two workers must run before the next such is released. Production
	// 5 min (X3).
	Probation time.Duration
	// Stray is how long nobody must have run a claim, look after look, for it to count as stray: longer than the SDK
	// pauses after an outage that the watchdog survives (25.6 s), so that a claim which is only late is left alone.
	// Production 30 s (X2).
	Stray time.Duration

	// Probe is the period of the private diagnostic workflow. Production 15 s (D4).
	Probe time.Duration
	// QueuePoll is the polling interval of the business queues and the private queue. Production 1 s.
	QueuePoll time.Duration

	// Monitor is the period of the business queue monitor. Production 5 s (D5).
	Monitor time.Duration
	// ClaimBackoff is the SDK's longest pause after contended claims. Production 120 s, the SDK's constant. A scaled
	// profile scales it too: a false alarm there costs a restart and no more (D5).
	ClaimBackoff time.Duration

	// Watchdog is the longest time without a renewal, a scan or a probe, counted from the send time of the last
	// success on the monotonic clock. Production 45 s (D6, D10).
	Watchdog time.Duration
	// WatchdogTick is the period at which the watchdog looks. Production 1 s.
	WatchdogTick time.Duration
	// ForcedExit is the time from the watchdog's verdict to the end of the process. Production 5 s (D7).
	ForcedExit time.Duration

	// StepExecute is the budget of one step. Production 30 min (D8).
	StepExecute time.Duration
	// StepSettle is the budget of a settling step. Production 1 min (D8).
	StepSettle time.Duration
	// StepCooperate is what a cancelled step gets to return before the watchdog is told. Production 5 s (D9).
	StepCooperate time.Duration
	// StepRetryFirst and StepRetryCap bound the pause before a step is tried again after an infrastructure fault.
	// Production 250 ms and 5 s.
	StepRetryFirst, StepRetryCap time.Duration

	// Statement is statement_timeout of the guarded pools. Production 15 s (F3, K4).
	Statement time.Duration
	// IdleInTransaction is idle_in_transaction_session_timeout of the guarded pools. Production 10 s (F3, K4).
	IdleInTransaction time.Duration
	// Transaction is the longest guarded transaction. Production 20 s (K4).
	Transaction time.Duration
	// Connect bounds the opening of one connection. Production 5 s.
	Connect time.Duration
	// SilentPeer is TCP_USER_TIMEOUT and the keep-alive budget of every connection. Production 15 s.
	SilentPeer time.Duration

	// Shutdown is the wall-clock budget of an orderly stop, all stages together. Production 25 s.
	Shutdown time.Duration
	// StartupFirst and StartupCap are the ceilings of the jittered start-up back-off: the first pause lies in
	// [StartupFirst/2, StartupFirst], later ones grow to [StartupCap/2, StartupCap]. Production 1 s and 30 s (H6).
	StartupFirst, StartupCap time.Duration
	// Summary is the period of the summary line of each replica. Production 60 s (K12).
	Summary time.Duration

	// Retention is how long a finished workflow is kept: for explanations, and because its ID is what makes a repeated
	// submission harmless. Production 30 days. A scaled profile scales it too: a tenth keeps three days.
	Retention time.Duration
	// RetentionEvery is the period of the clean-up, one small batch each. Production 60 s.
	RetentionEvery time.Duration
}

// Production is the profile of the tables D and K4.
func Production() Timing {
	return Timing{
		Renew:        10 * time.Second,
		RenewAttempt: 5 * time.Second,
		Lease:        75 * time.Second,

		LeaseCheck:      2 * time.Second,
		LeaseCheckRetry: 500 * time.Millisecond,

		Scan:    5 * time.Second,
		RowLock: 2 * time.Second,

		Probation: 5 * time.Minute,
		Stray:     30 * time.Second,

		Probe:     15 * time.Second,
		QueuePoll: time.Second,

		Monitor:      5 * time.Second,
		ClaimBackoff: 120 * time.Second,

		Watchdog:     45 * time.Second,
		WatchdogTick: time.Second,
		ForcedExit:   5 * time.Second,

		StepExecute:    30 * time.Minute,
		StepSettle:     time.Minute,
		StepCooperate:  5 * time.Second,
		StepRetryFirst: 250 * time.Millisecond,
		StepRetryCap:   5 * time.Second,

		Statement:         15 * time.Second,
		IdleInTransaction: 10 * time.Second,
		Transaction:       20 * time.Second,
		Connect:           5 * time.Second,
		SilentPeer:        15 * time.Second,

		Shutdown:     25 * time.Second,
		StartupFirst: time.Second,
		StartupCap:   30 * time.Second,
		Summary:      time.Minute,

		Retention:      30 * 24 * time.Hour,
		RetentionEvery: time.Minute,
	}
}

// OfLease is the profile of an executor, told by its lease: profiles are scaled as a whole. Production for a lease of 0.
func OfLease(lease time.Duration) Timing {
	if lease == 0 {
		return Production()
	}
	return Production().Scale(float64(lease) / float64(Production().Lease))
}

// Scale returns the profile with every duration multiplied by factor. Ratios, and with them safety, are kept; only
// the rounding to whole microseconds differs.
func (t Timing) Scale(factor float64) Timing {
	for _, field := range t.fields() {
		*field.value = time.Duration(float64(*field.value) * factor).Round(time.Microsecond)
	}
	return t
}

// Validate returns nil for a safe profile. Otherwise the error names every broken inequality and matches ErrUnsafe.
func (t Timing) Validate() error {
	var broken []error
	for _, field := range t.fields() {
		if *field.value <= 0 {
			broken = append(broken, fmt.Errorf("%w: %s = %s must be positive", ErrUnsafe, field.name, *field.value))
		}
	}
	less := func(left string, leftValue time.Duration, right string, rightValue time.Duration) {
		if leftValue >= rightValue {
			broken = append(broken, fmt.Errorf("%w: %s = %s must be less than %s = %s", ErrUnsafe, left, leftValue, right, rightValue))
		}
	}
	less("watchdog + forced exit + transaction", t.Watchdog+t.ForcedExit+t.Transaction, "lease", t.Lease)
	less("transaction", t.Transaction, "lease - renew", t.Lease-t.Renew)
	less("shutdown + forced exit", t.Shutdown+t.ForcedExit, "watchdog", t.Watchdog)
	less("lease check", t.LeaseCheck, "shutdown", t.Shutdown)
	less("statement", t.Statement, "transaction", t.Transaction)
	less("idle in transaction", t.IdleInTransaction, "transaction", t.Transaction)
	less("statement", t.Statement, "stray", t.Stray)
	less("scan", t.Scan, "probation", t.Probation)
	less("monitor", t.Monitor, "watchdog", t.Watchdog)
	less("renew + renew attempt", t.Renew+t.RenewAttempt, "watchdog", t.Watchdog)
	less("renew attempt", t.RenewAttempt, "renew", t.Renew)
	less("scan", t.Scan, "watchdog", t.Watchdog)
	less("row lock", t.RowLock, "statement", t.Statement)
	less("probe + queue poll", t.Probe+t.QueuePoll, "watchdog", t.Watchdog)
	less("watchdog tick", t.WatchdogTick, "forced exit", t.ForcedExit)
	less("watchdog + forced exit", t.Watchdog+t.ForcedExit, "step settle", t.StepSettle) // no outage can use a budget up
	less("step settle", t.StepSettle, "step execute", t.StepExecute)
	less("lease check", t.LeaseCheck, "forced exit", t.ForcedExit)
	less("connect", t.Connect, "renew", t.Renew)
	less("silent peer", t.SilentPeer, "watchdog", t.Watchdog)
	less("step execute", t.StepExecute, "retention", t.Retention)
	less("retention every", t.RetentionEvery, "retention", t.Retention)
	if t.StartupFirst > t.StartupCap {
		broken = append(broken, fmt.Errorf("%w: startup first = %s must not exceed startup cap = %s", ErrUnsafe, t.StartupFirst, t.StartupCap))
	}
	if t.StepRetryFirst > t.StepRetryCap {
		broken = append(broken, fmt.Errorf("%w: step retry first = %s must not exceed step retry cap = %s", ErrUnsafe, t.StepRetryFirst, t.StepRetryCap))
	}
	return errors.Join(broken...)
}

// TakeoverBound is the longest time from a worker's last renewal to the claim by a peer, when no admitted
// transaction holds the lease row: lease + scan + queue poll (T6). Production 81 s.
func (t Timing) TakeoverBound() time.Duration {
	return t.Lease + t.Scan + t.QueuePoll
}

// BacklogStall is how long a claimable queue may go without a claim before it counts as stalled: the SDK's longest
// pause with its 5 % jitter, and two observations. Production 136 s; more for polling intervals above 120 s (D5).
func (t Timing) BacklogStall(poll time.Duration) time.Duration {
	return max(t.ClaimBackoff, poll)*105/100 + 2*t.Monitor
}

// OutboundMinimum is what must be left of the lease to send something out: with less, this process should be gone
// already. Production 25 s (F7).
func (t Timing) OutboundMinimum() time.Duration {
	return t.Lease - t.Watchdog - t.ForcedExit
}

type field struct {
	name  string
	value *time.Duration
}

func (t *Timing) fields() []field {
	return []field{
		{"renew", &t.Renew},
		{"renew attempt", &t.RenewAttempt},
		{"lease", &t.Lease},
		{"lease check", &t.LeaseCheck},
		{"lease check retry", &t.LeaseCheckRetry},
		{"scan", &t.Scan},
		{"row lock", &t.RowLock},
		{"probation", &t.Probation},
		{"stray", &t.Stray},
		{"probe", &t.Probe},
		{"queue poll", &t.QueuePoll},
		{"monitor", &t.Monitor},
		{"claim backoff", &t.ClaimBackoff},
		{"watchdog", &t.Watchdog},
		{"watchdog tick", &t.WatchdogTick},
		{"forced exit", &t.ForcedExit},
		{"step execute", &t.StepExecute},
		{"step settle", &t.StepSettle},
		{"step cooperate", &t.StepCooperate},
		{"step retry first", &t.StepRetryFirst},
		{"step retry cap", &t.StepRetryCap},
		{"statement", &t.Statement},
		{"idle in transaction", &t.IdleInTransaction},
		{"transaction", &t.Transaction},
		{"connect", &t.Connect},
		{"silent peer", &t.SilentPeer},
		{"shutdown", &t.Shutdown},
		{"startup first", &t.StartupFirst},
		{"startup cap", &t.StartupCap},
		{"summary", &t.Summary},
		{"retention", &t.Retention},
		{"retention every", &t.RetentionEvery},
	}
}
