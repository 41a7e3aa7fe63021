package advice_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/worker/advice"
)

// Every fault of a start that nothing but a person can heal has a hint (H6).
func TestForHasAHintForEveryFatalDatabaseFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		reason signal.Reason
		code   int
	}{
		"CatalogOther":     {journal.ErrCatalog, signal.CatalogMismatch, boot.ExitSchema},
		"DatabaseMissing":  {&pgconn.PgError{Code: "3D000"}, signal.DatabaseMissing, boot.ExitConfiguration},
		"DatabaseStopping": {&pgconn.PgError{Code: "57P03"}, signal.DatabaseDown, boot.ExitUnavailable},
		"GuardMissing":     {&pgconn.PgError{Code: "KF007"}, signal.GuardsIncomplete, boot.ExitSchema},
		"IdentityLost":     {lease.ErrIdentityLost, signal.IdentityLost, boot.ExitConfiguration},
		"MigrationMissing": {&pgconn.PgError{Code: "3F000"}, signal.SchemaMissing, boot.ExitSchema},
		"NoPermission":     {&pgconn.PgError{Code: "42501"}, signal.Permission, boot.ExitPermission},
		"NotAWorker":       {lease.ErrNotWorker, signal.NotAWorker, boot.ExitPermission},
		"OtherService":     {schema.ErrOtherApplication, signal.OtherApplication, boot.ExitConfiguration},
		"WrongPassword":    {&pgconn.PgError{Code: "28P01"}, signal.Authentication, boot.ExitPermission},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := advice.For(fmt.Errorf("open: %w", c.err))
			require.Equal(t, c.reason, a.Reason)
			require.Equal(t, c.code, a.ExitCode)
			require.NotEmpty(t, a.Hint)
		})
	}
}

func TestTextIsOneLineAndAHint(t *testing.T) {
	t.Parallel()
	require.Equal(t, "kesita: migrate: connect: database belongs to another application\n"+
		"  hint: every service has a database of its own: correct the database URL\n",
		advice.Text("kesita", "migrate", fmt.Errorf("connect: %w", schema.ErrOtherApplication)))
	require.Equal(t, "kesita: wait: context canceled\n", advice.Text("kesita", "wait", context.Canceled))
	require.Equal(t, "kesita: list: cannot connect: a: refused\n", advice.Text("kesita", "list", errors.New("cannot connect:\n\ta: refused\n\ta: refused")))
	require.Equal(t, "kesita: start: invalid configuration: a\n  invalid configuration: b\n", advice.Text("kesita", "start", errors.Join(
		fmt.Errorf("%w: a", boot.ErrConfiguration), fmt.Errorf("%w: b", boot.ErrConfiguration))))
}
