package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestTheCommandLineOfAWorker(t *testing.T) {
	t.Parallel()

	t.Run("HelpNamesEveryWayToCallIt", func(t *testing.T) {
		t.Parallel()
		out := start(t, nil, "--help").wait(t)
		require.Equal(t, boot.ExitClean, out.code)
		for _, word := range []string{"--health", "--version", "migrate"} {
			require.Contains(t, out.stderr, word)
		}
	})

	t.Run("UnknownFlagsAndArgumentsAreRefused", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, boot.ExitUsage, start(t, nil, "--fast").wait(t).code)
		require.Equal(t, boot.ExitUsage, start(t, nil, "serve").wait(t).code)
		require.Equal(t, boot.ExitUsage, start(t, nil, "migrate", "--down").wait(t).code)
	})

	t.Run("VersionNamesSDKAndCatalog", func(t *testing.T) {
		t.Parallel()
		out := start(t, nil, "--version").wait(t)
		require.Equal(t, boot.ExitClean, out.code)
		require.Regexp(t, `^kesita-invoices \S+ \(revision \S+, go1\.\S+, DBOS 1\.4\.0, catalog 113\)\n$`, out.stdout)
	})
}

// A container asks its own worker whether it lives (H3).
func TestHealthIsTheWorkersOwnAnswer(t *testing.T) {
	t.Parallel()
	environ := []string{"DATABASE_URL=postgres://w:" + password + "@127.0.0.1:1/x"}
	worker := start(t, append(environ, "HTTP_ADDRESS=127.0.0.1:0"))
	address := worker.await(t, "address", func(l line) bool { return l.HTTPAddress != "" }).HTTPAddress
	require.Equal(t, 0, start(t, append(environ, "HTTP_ADDRESS="+address), "--health").wait(t).code, "live, though its database is away")
	out := start(t, append(environ, "HTTP_ADDRESS=127.0.0.1:1"), "--health").wait(t)
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stderr, "refused")
}

// A migration can be repeated; with a login that does not own the database it says so (K1).
func TestAServicesBinaryMigratesItsDatabase(t *testing.T) {
	t.Parallel()
	p := empty(t, localpgtest.Shared(t))
	first := p.migrate(t)
	require.Equal(t, "kesita-invoices: 1 new migrations, now at version 2\n", first.stdout, first.stderr)
	require.Equal(t, "kesita-invoices: 0 new migrations, now at version 2\n", p.migrate(t).stdout)

	out := start(t, []string{"DATABASE_URL=" + p.url("reader")}, "migrate").wait(t)
	require.Equal(t, boot.ExitPermission, out.code, out.stderr)
	out = start(t, nil, "migrate").wait(t)
	require.Equal(t, boot.ExitConfiguration, out.code)
	require.Contains(t, out.stderr, "kesita-invoices: migrate: DATABASE_URL is not set")
}
