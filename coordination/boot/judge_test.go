package boot_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

func state(code string) error { return &pgconn.PgError{Code: code, Message: "refused"} }

// H6: what waiting can heal is retried; configuration, authentication, permission and schema fail at once, each with
// its reason and exit status; what nobody knows is fatal.
func TestEveryStartUpErrorHasItsVerdict(t *testing.T) {
	t.Parallel()
	again := boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable}
	fatal := func(reason signal.Reason, code int) boot.Verdict { return boot.Verdict{Reason: reason, ExitCode: code} }
	_, malformed := pgx.ParseConfig("postgres://h:port/db")
	for name, c := range map[string]struct {
		err  error
		want boot.Verdict
	}{
		"server starting":             {state("57P03"), again},
		"server stopping":             {state("57P01"), again},
		"too many connections":        {state("53300"), again},
		"disk full":                   {state("53100"), again},
		"read-only node":              {state("25006"), again},
		"connection failure":          {state("08006"), again},
		"connection dropped":          {&fault.ConnectionError{Err: errors.New("reset")}, again},
		"deadlock":                    {state("40P01"), again},
		"lock not available":          {state("55P03"), again},
		"statement timeout":           {state("57014"), again},
		"lease lost while starting":   {state("KF001"), again},
		"own attempt took too long":   {context.DeadlineExceeded, again},
		"inside the sdk":              {fmt.Errorf("%w: launch: %w", boot.ErrSDK, errors.New("no cause")), again},
		"sdk, cause known, permanent": {fmt.Errorf("%w: register queue: %w", boot.ErrSDK, state("42501")), fatal(signal.Permission, boot.ExitPermission)},
		"wrong password":              {state("28P01"), fatal(signal.Authentication, boot.ExitPermission)},
		"login refused":               {state("28000"), fatal(signal.Authentication, boot.ExitPermission)},
		"missing permission":          {state("42501"), fatal(signal.Permission, boot.ExitPermission)},
		"login is no worker (server)": {state("KF005"), fatal(signal.NotAWorker, boot.ExitPermission)},
		"login is no worker":          {lease.ErrNotWorker, fatal(signal.NotAWorker, boot.ExitPermission)},
		"missing database":            {state("3D000"), fatal(signal.DatabaseMissing, boot.ExitConfiguration)},
		"missing schema":              {state("3F000"), fatal(signal.SchemaMissing, boot.ExitSchema)},
		"missing table":               {state("42P01"), fatal(signal.SchemaMissing, boot.ExitSchema)},
		"missing function":            {state("42883"), fatal(signal.SchemaMissing, boot.ExitSchema)},
		"old coordination schema":     {lease.ErrSchemaOld, fatal(signal.SchemaMissing, boot.ExitSchema)},
		"unguarded table":             {state("KF007"), fatal(signal.GuardsIncomplete, boot.ExitSchema)},
		"foreign catalog (server)":    {state("KF008"), fatal(signal.CatalogMismatch, boot.ExitSchema)},
		"foreign catalog":             {journal.ErrCatalog, fatal(signal.CatalogMismatch, boot.ExitSchema)},
		"other application (server)":  {state("KF006"), fatal(signal.OtherApplication, boot.ExitConfiguration)},
		"other application":           {schema.ErrOtherApplication, fatal(signal.OtherApplication, boot.ExitConfiguration)},
		"identity lost":               {lease.ErrIdentityLost, fatal(signal.IdentityLost, boot.ExitConfiguration)},
		"pooler refuses the identity": {
			&pgconn.PgError{Code: "08P01", Message: "unsupported startup parameter: kesita.executor_id"},
			fatal(signal.IdentityLost, boot.ExitConfiguration),
		},
		"other endpoint":     {guard.ErrEndpoint, fatal(signal.Configuration, boot.ExitConfiguration)},
		"plain text":         {guard.ErrPlaintext, fatal(signal.Configuration, boot.ExitConfiguration)},
		"bad configuration":  {boot.ErrConfiguration, fatal(signal.Configuration, boot.ExitConfiguration)},
		"unsafe timing":      {timing.ErrUnsafe, fatal(signal.Configuration, boot.ExitConfiguration)},
		"malformed url":      {malformed, fatal(signal.Configuration, boot.ExitConfiguration)},
		"unknown error":      {errors.New("surprise"), fatal(signal.Unclassified, boot.ExitInternal)},
		"unknown sqlstate":   {state("XX000"), fatal(signal.Unclassified, boot.ExitInternal)},
		"a step's own error": {state("23505"), fatal(signal.Unclassified, boot.ExitInternal)},
	} {
		require.Equal(t, c.want, boot.Judge(c.err), name)
		require.Equal(t, c.want, boot.Judge(fmt.Errorf("open: %w", c.err)), name)
	}
}
