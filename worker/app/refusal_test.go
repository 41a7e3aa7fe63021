package app_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

// What waiting cannot heal ends the process at once, with a status and a reason (H6, C3, C5, C7, K1, K2).
func TestAWorkerThatCannotEverStartSaysWhyAndEnds(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })

	for name, c := range map[string]struct {
		// spoil changes a migrated database; environ is what the worker gets.
		spoil   string
		environ func(p place) []string
		code    int
		reason  string
		says    string
	}{
		"AddressInUse": {
			environ: func(p place) []string { return p.worker("HTTP_ADDRESS=" + taken.Addr().String()) },
			code:    boot.ExitUnavailable, reason: "configuration_invalid", says: "address already in use",
		},
		"CatalogNewer": {
			spoil: `update dbos.dbos_migrations set version = 114`,
			code:  boot.ExitSchema, reason: "catalog_mismatch", says: "found catalog 114, DBOS Go 1.4.0 needs 113",
		},
		"CatalogOlder": {
			spoil: `update dbos.dbos_migrations set version = 112`,
			code:  boot.ExitSchema, reason: "catalog_mismatch", says: "found catalog 112, DBOS Go 1.4.0 needs 113",
		},
		"ConductorKeySet": {
			environ: func(p place) []string { return p.worker("DBOS_CONDUCTOR_KEY=" + password) },
			code:    boot.ExitConfiguration, reason: "configuration_invalid", says: "unset DBOS_CONDUCTOR_KEY",
		},
		"DatabaseMissing": {
			environ: func(p place) []string {
				return p.worker("DATABASE_URL=" + p.server.URL(p.login("worker"), password, "nowhere"))
			},
			code: boot.ExitConfiguration, reason: "database_missing", says: "hint: create the database",
		},
		"ExecutorIDFromTheEnvironment": {
			environ: func(p place) []string { return p.worker("DBOS__VMID=me") },
			code:    boot.ExitConfiguration, reason: "configuration_invalid", says: "unset DBOS__VMID",
		},
		"LoginOfNoWorker": {
			environ: func(p place) []string { return p.worker("DATABASE_URL=" + p.url("reader")) },
			code:    boot.ExitPermission, reason: "login_not_worker", says: "hint: use the worker login",
		},
		"OtherServicesDatabase": {
			spoil: `update workflow_coordination.application set application_name = 'kesita-corpus'`,
			code:  boot.ExitConfiguration, reason: "other_application", says: "database belongs to another application: kesita-corpus, this is kesita-invoices",
		},
		"PermissionMissing": {
			spoil: `revoke usage on schema workflow_coordination from original_worker`,
			code:  boot.ExitPermission, reason: "permission_denied", says: "hint: the login lacks a privilege",
		},
		"TableWithoutGuard": {
			spoil: `create table invoices.open (n int); grant insert on invoices.open to original_worker`,
			code:  boot.ExitSchema, reason: "guards_incomplete", says: "invoices.open",
		},
		"WrongPassword": {
			environ: func(p place) []string {
				return p.worker("DATABASE_URL=" + p.server.URL(p.login("worker"), password+"x", p.name))
			},
			code: boot.ExitPermission, reason: "authentication_refused", says: "hint: check login and password",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := migrated(t)
			if c.spoil != "" {
				p.exec(t, c.spoil)
			}
			environ := p.worker()
			if c.environ != nil {
				environ = c.environ(p)
			}
			worker := start(t, environ)
			out := worker.wait(t)
			require.Equal(t, c.code, out.code)
			require.Contains(t, out.stderr, "kesita-invoices: ")
			require.Contains(t, out.stderr, c.says)
			require.Contains(t, out.stdout, `"reason":"`+c.reason+`"`)
			require.Zero(t, p.active(t), "no lease is left")
		})
	}

	t.Run("MigrationMissing", func(t *testing.T) {
		t.Parallel()
		out := start(t, empty(t, localpgtest.Shared(t)).worker()).wait(t)
		require.Equal(t, boot.ExitSchema, out.code)
		require.Contains(t, out.stderr, "hint: run the migration")
	})
}

// All faults in one message, as text for people and as one line for the log; and no connection is made.
func TestAllFaultsOfTheConfigurationAreToldAtOnce(t *testing.T) {
	t.Parallel()
	worker := start(t, []string{
		"DATABASE_URL=postgres://u:" + password + "@db.example/x?sslmode=disable", "DBOS__APPVERSION=" + password,
		"DBOS__VMID=x", "TIMING=soon", "JOURNAL_CONNECTIONS=5000", "QUEUE_CONCURRENCY=0", "PATH=/bin",
	})
	out := worker.wait(t)
	require.Equal(t, boot.ExitConfiguration, out.code)
	lines := worker.lines(t)
	require.Len(t, lines, 1)
	require.Equal(t, "executor_startup", lines[0].Operation)
	require.Equal(t, "configuration_invalid", lines[0].Reason)
	require.Len(t, lines[0].Faults, 6)
	for i, begin := range []string{"DATABASE_URL", "QUEUE_CONCURRENCY", "JOURNAL_CONNECTIONS", "TIMING", "", ""} {
		require.True(t, strings.HasPrefix(lines[0].Faults[i], begin), lines[0].Faults[i])
		require.Contains(t, out.stderr, lines[0].Faults[i])
	}
	require.Contains(t, out.stderr, "unset DBOS__APPVERSION")
	require.Contains(t, out.stderr, "unset DBOS__VMID")
}

func (p place) active(t testing.TB) int {
	t.Helper()
	return len(p.text(t, `select coalesce(string_agg('x', ''), '') from workflow_coordination.executor where state = 'active'`))
}
