// Package signal owns the names that the runtime writes to its log: operations and reason codes.
//
// Both are closed lists and an API: alerts and runbooks rely on them. A line carries identifiers, counts and a reason
// code; never a payload, an input, a document or a secret. The package knows nothing of what happens, only how it
// is called, and it cannot fail.
package signal

import (
	"context"
	"io"
	"log/slog"

	"github.com/kesita/platform/coordination/fault"
)

// Operation names what a log line is about (O1).
type Operation string

// The operations that exist.
const (
	Watchdog          Operation = "executor_watchdog"
	Coordination      Operation = "executor_coordination"
	Recovery          Operation = "executor_recovery"
	Startup           Operation = "executor_startup"
	Shutdown          Operation = "executor_shutdown"
	Readiness         Operation = "dbos_readiness"
	RecoveryExhausted Operation = "workflow_recovery_exhausted"
	Settlement        Operation = "workflow_recovery_settlement"
	RecoveryWarning   Operation = "workflow_recovery_warning"
	Stray             Operation = "workflow_stray"
	Workflow          Operation = "workflow_execution"
	Retention         Operation = "workflow_retention"
)

// Reason is why something happened.
type Reason string

// The reasons that exist.
const (
	LeaseActive       Reason = "lease_active"
	LeaseLost         Reason = "lease_lost"
	RenewalFailed     Reason = "renewal_failed"
	RenewalStalled    Reason = "renewal_stalled"
	ScanFailed        Reason = "scan_failed"
	ScanStalled       Reason = "scan_stalled"
	ProbeFailed       Reason = "probe_failed"
	ProbeStalled      Reason = "probe_stalled"
	PeerExpired       Reason = "peer_expired"
	PeerReleased      Reason = "peer_released"
	PeerRevoked       Reason = "peer_revoked"
	PeerBlocked       Reason = "peer_blocked"
	AttemptsExhausted Reason = "attempts_exhausted"
	FenceRefused      Reason = "fence_refused"
	CheckpointFailed  Reason = "checkpoint_failed"
	StepOverBudget    Reason = "step_over_budget"
	Infrastructure    Reason = "infrastructure_fault"
	DatabaseDown      Reason = "database_unavailable"
	Configuration     Reason = "configuration_invalid"
	Authentication    Reason = "authentication_refused"
	Permission        Reason = "permission_denied"
	DatabaseMissing   Reason = "database_missing"
	SchemaMissing     Reason = "migration_missing"
	GuardsIncomplete  Reason = "guards_incomplete"
	CatalogMismatch   Reason = "catalog_mismatch"
	OtherApplication  Reason = "other_application"
	NotAWorker        Reason = "login_not_worker"
	IdentityLost      Reason = "identity_lost"
	Unclassified      Reason = "unclassified_error"
	Started           Reason = "started"
	Requested         Reason = "stop_requested"
	Released          Reason = "lease_released"
	Abandoned         Reason = "lease_abandoned"
	StageTimedOut     Reason = "stage_timed_out"
	Ready             Reason = "ready"
	NotReady          Reason = "not_ready"
	HealthUnserved    Reason = "health_unserved"
	SDK               Reason = "sdk"
	ObservationFailed Reason = "observation_failed"
	QueueStalled      Reason = "queue_stalled"
	LastChance        Reason = "last_attempt"
	SuspectReleased   Reason = "suspect_released"
	UnknownWorkflow   Reason = "unknown_workflow"
	OutcomeLost       Reason = "outcome_lost"
	NeverStarted      Reason = "never_started"
	ClaimCeiling      Reason = "claim_ceiling"
	SettlementFailed  Reason = "settlement_failed"
	Settled           Reason = "settled"
	WorkflowsDeleted  Reason = "workflows_deleted"
	RetentionFailed   Reason = "retention_failed"
)

// Log writes lines for one executor.
type Log struct {
	logger *slog.Logger
}

// New returns a Log that writes through logger. A nil logger discards.
func New(logger *slog.Logger) *Log {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Log{logger: logger}
}

// JSON returns a logger that writes one JSON object a line to out, the way the container's log collector wants it.
func JSON(out io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
}

// With returns a Log whose every line carries the executor's ID.
func (l *Log) With(executorID string) *Log {
	return &Log{logger: l.logger.With("executor_id", executorID)}
}

// Slog returns the logger underneath, for libraries that take one.
func (l *Log) Slog() *slog.Logger { return l.logger }

// Info writes a line about something that changed as intended.
func (l *Log) Info(ctx context.Context, op Operation, reason Reason, attrs ...slog.Attr) {
	l.write(ctx, slog.LevelInfo, op, reason, attrs)
}

// Debug writes a line that only a developer wants.
func (l *Log) Debug(ctx context.Context, op Operation, reason Reason, attrs ...slog.Attr) {
	l.write(ctx, slog.LevelDebug, op, reason, attrs)
}

// Warn writes a line about a fault that heals by itself.
func (l *Log) Warn(ctx context.Context, op Operation, reason Reason, attrs ...slog.Attr) {
	l.write(ctx, slog.LevelWarn, op, reason, attrs)
}

// Error writes a line about a fault that somebody must look at.
func (l *Log) Error(ctx context.Context, op Operation, reason Reason, attrs ...slog.Attr) {
	l.write(ctx, slog.LevelError, op, reason, attrs)
}

// Fault returns err as an attribute, without data; see fault.Text. A nil error is an empty text.
func Fault(err error) slog.Attr { return slog.String("fault", fault.Text(err)) }

func (l *Log) write(ctx context.Context, level slog.Level, op Operation, reason Reason, attrs []slog.Attr) {
	all := append([]slog.Attr{slog.String("operation", string(op)), slog.String("reason", string(reason))}, attrs...)
	l.logger.LogAttrs(ctx, level, string(op), all...) //nolint:sloglint // the message is the operation, of a closed list
}
