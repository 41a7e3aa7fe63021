// Package advice owns what a person is told about an error that ends a process: why, what helps, and the exit
// status. Workers and the command line share it.
//
// coordination/boot is authoritative for what an error means; this package only adds words to its reasons. It must
// not know who failed. An error that it has no words for is passed on without a hint.
package advice

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/signal"
)

// Advice is what to say about an error.
type Advice struct {
	// Reason is a code of the closed list.
	Reason signal.Reason
	// Hint says what helps; may be empty.
	Hint string
	// ExitCode is the status to end with; see package boot.
	ExitCode int
}

// For returns the advice on err.
func For(err error) Advice {
	verdict := boot.Judge(err)
	if errors.Is(err, context.Canceled) {
		return Advice{Reason: signal.Requested, ExitCode: verdict.ExitCode}
	}
	return Advice{Reason: verdict.Reason, Hint: hints()[verdict.Reason], ExitCode: verdict.ExitCode}
}

// Text returns the lines for a terminal: who, what and why in one line, and the hint if there is one. Only faults of
// the configuration have a line each.
func Text(who, what string, err error) string {
	between := " "
	if errors.Is(err, boot.ErrConfiguration) {
		between = "\n  "
	}
	text := who + ": " + what + ": " + strings.Join(linesOf(err), between) + "\n"
	if hint := For(err).Hint; hint != "" {
		text += "  hint: " + hint + "\n"
	}
	return text
}

// linesOf returns the lines of an error's text; the driver repeats itself for each way that it tried to connect.
func linesOf(err error) []string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return slices.Compact(lines)
}

func hints() map[signal.Reason]string {
	return map[signal.Reason]string{
		signal.Authentication:   "check login and password of the database URL",
		signal.Permission:       "the login lacks a privilege: the migration grants it to the logins that it is told",
		signal.DatabaseMissing:  "create the database, or correct its name in the database URL",
		signal.SchemaMissing:    "run the migration of this service first",
		signal.GuardsIncomplete: "call workflow_coordination.guard_table for the named tables in a migration, and run it",
		signal.CatalogMismatch:  "run worker and migration of one release: the journal was created by another SDK version",
		signal.OtherApplication: "every service has a database of its own: correct the database URL",
		signal.NotAWorker:       "use the worker login; the migration lists it (--worker-login)",
		signal.IdentityLost:     "connect to the server directly: a pooler does not pass the identity on",
		signal.DatabaseDown:     "is the database server running, and reachable from here?",
	}
}
