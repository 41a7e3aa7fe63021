package signal

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// Line describes one kind of log line: the pair of operation and reason is what alerts match.
type Line struct {
	Operation Operation `json:"operation"`
	Reason    Reason    `json:"reason"`
	// Level is the level it is written at.
	Level slog.Level `json:"level"`
	// Meaning is what happened, for the person who reads the line.
	Meaning string `json:"meaning"`
}

// Catalog returns every line that the platform writes, grouped by operation.
func Catalog() []Line {
	return concat(lifeLines(), startupLines(), watchdogLines(), recoveryLines(), workflowLines())
}

func lifeLines() []Line {
	return []Line{
		{Coordination, LeaseActive, slog.LevelInfo, "the summary of a live worker, once a period; its absence means that the replica is gone"},
		{Coordination, LeaseLost, slog.LevelError, "the database refused to renew: this executor is over and its process ends"},
		{Coordination, RenewalFailed, slog.LevelWarn, "one renewal had no answer; the next attempt opens a new connection"},
		{Coordination, ProbeFailed, slog.LevelWarn, "one diagnostic workflow did not come back in time"},
		{Coordination, ObservationFailed, slog.LevelWarn, "one look at queues or own claims failed; the next one follows"},
		{Readiness, Ready, slog.LevelInfo, "the worker turned ready"},
		{Readiness, NotReady, slog.LevelWarn, "the worker turned unready: not launched"},
		{Readiness, Requested, slog.LevelWarn, "the worker turned unready: it stops"},
		{Readiness, LeaseLost, slog.LevelWarn, "the worker turned unready: the database does not confirm its lease"},
		{Readiness, RenewalStalled, slog.LevelWarn, "the worker turned unready: no recent renewal"},
		{Readiness, ScanStalled, slog.LevelWarn, "the worker turned unready: no recent recovery scan"},
		{Readiness, ProbeStalled, slog.LevelWarn, "the worker turned unready: no recent probe"},
		{Readiness, DatabaseDown, slog.LevelWarn, "the worker turned unready: a database that its service needs does not answer"},
		{Readiness, HealthUnserved, slog.LevelError, "the health listener ended, so nobody can see this worker: it stops"},
		{Shutdown, Requested, slog.LevelInfo, "an orderly stop began"},
		{Shutdown, Released, slog.LevelInfo, "the stop was clean and the lease was given back"},
		{Shutdown, Abandoned, slog.LevelWarn, "the stop was not clean: the lease is left to expire"},
		{Shutdown, StageTimedOut, slog.LevelWarn, "the stop did not end within its budget: the lease is left to expire"},
		{Shutdown, ProbeFailed, slog.LevelWarn, "the private queue could not be removed; a peer's scan does it"},
	}
}

func startupLines() []Line {
	fatal := func(reason Reason, meaning string) Line {
		return Line{Startup, reason, slog.LevelError, meaning + "; the process ends"}
	}
	return []Line{
		{Startup, Started, slog.LevelInfo, "the worker launched: its queues are served"},
		{Startup, NotReady, slog.LevelInfo, "the process listens for health probes and starts"},
		{Startup, DatabaseDown, slog.LevelWarn, "the database does not answer; the start is tried again after a pause"},
		{Startup, Abandoned, slog.LevelWarn, "a failed start could not give its lease back; it expires"},
		fatal(Configuration, "the configuration is wrong"),
		fatal(Authentication, "the server refused the login"),
		fatal(Permission, "the login may not do what a worker must"),
		fatal(DatabaseMissing, "there is no such database"),
		fatal(SchemaMissing, "the migration did not run"),
		fatal(GuardsIncomplete, "a table that workers can write has no guard"),
		fatal(CatalogMismatch, "the journal has another catalog than this SDK release"),
		fatal(OtherApplication, "the database belongs to another service"),
		fatal(NotAWorker, "the login is not a worker login, so the fence would not see it"),
		fatal(IdentityLost, "the session's identity does not reach the server: a pooler stands in between"),
		fatal(Unclassified, "an error that nobody classified"),
	}
}

func watchdogLines() []Line {
	verdict := func(reason Reason, meaning string) Line {
		return Line{Watchdog, reason, slog.LevelError, meaning + "; the process ends within the forced-exit time and a peer continues"}
	}
	return []Line{
		verdict(LeaseLost, "the lease is over"),
		verdict(RenewalStalled, "no renewal succeeded for the watchdog's time"),
		verdict(ScanStalled, "no recovery scan succeeded for the watchdog's time"),
		verdict(ProbeStalled, "no diagnostic workflow came back for the watchdog's time"),
		verdict(QueueStalled, "a business queue had work and room and claimed nothing for its budget"),
		verdict(FenceRefused, "a guarded write was refused"),
		verdict(CheckpointFailed, "a checkpoint could not be written; the error must not become the workflow's own"),
		verdict(StepOverBudget, "a step ignored the end of its budget"),
	}
}

func recoveryLines() []Line {
	return []Line{
		{Recovery, PeerExpired, slog.LevelInfo, "an expired executor was revoked and its work moved"},
		{Recovery, PeerReleased, slog.LevelInfo, "work that a stopped executor left was moved"},
		{Recovery, PeerRevoked, slog.LevelInfo, "a late claim of a revoked executor was moved"},
		{Recovery, PeerBlocked, slog.LevelWarn, "a frozen transaction of an expired executor held its takeover off; its sessions were ended"},
		{Recovery, ScanFailed, slog.LevelWarn, "a scan, or the recovery of one executor, failed; the next scan tries again"},
		{Recovery, SuspectReleased, slog.LevelInfo, "a workflow that lost two workers or more was released, alone"},
		{Recovery, Settled, slog.LevelInfo, "the business state of a quarantined workflow was settled as failed"},
		{RecoveryWarning, LastChance, slog.LevelWarn, "one more lost worker quarantines this workflow"},
		{RecoveryExhausted, AttemptsExhausted, slog.LevelError, "a workflow lost its last allowed worker and is quarantined"},
		{RecoveryExhausted, ClaimCeiling, slog.LevelError, "a workflow was claimed a hundred times and is quarantined"},
		{Settlement, SettlementFailed, slog.LevelError, "the business state of a quarantined workflow could not be settled; it is tried again"},
	}
}

func workflowLines() []Line {
	return []Line{
		{Workflow, Infrastructure, slog.LevelWarn, "a step met a fault of the platform and is tried again"},
		{Workflow, SDK, slog.LevelWarn, "the SDK wrote a warning or an error"},
		{Stray, NeverStarted, slog.LevelWarn, "a claimed workflow never started here; it went back to its queue, uncounted"},
		{Stray, OutcomeLost, slog.LevelWarn, "a workflow ended here but its outcome was not recorded; it went back to its queue"},
		{Stray, UnknownWorkflow, slog.LevelError, "no worker knows this workflow's name; it is parked until an operator decides"},
		{Retention, WorkflowsDeleted, slog.LevelInfo, "finished workflows older than the retention age were deleted"},
		{Retention, RetentionFailed, slog.LevelWarn, "the clean-up of finished workflows failed; the next one follows"},
	}
}

func concat(groups ...[]Line) []Line {
	var all []Line
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// Table returns the catalog as a Markdown table.
func Table() string {
	var out strings.Builder
	out.WriteString("| operation | reason | level | meaning |\n| --- | --- | --- | --- |\n")
	for _, l := range Catalog() {
		fmt.Fprintf(&out, "| `%s` | `%s` | %s | %s |\n", l.Operation, l.Reason, l.Level, l.Meaning)
	}
	return out.String()
}

// Document returns the catalog as JSON, for alert rules.
func Document() ([]byte, error) {
	body, err := json.MarshalIndent(Catalog(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode signals: %w", err)
	}
	return append(body, '\n'), nil
}
