package app_test

import (
	"context"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/localpg"
)

const (
	// fast is a tenth of production: a lease of 7.5 s, a watchdog of 4.5 s. For tests that wait for them.
	fast = "TIMING=demo"
	// calm is half of production, for tests in which a busy machine must not give a verdict.
	calm = "TIMING=0.5"
)

// The whole way: live before ready, work done, an orderly stop with status 0 that gives the lease back (H1, H2, H3).
func TestAWorkerWorksUntilItIsTold(t *testing.T) {
	t.Parallel()
	p := migrated(t)
	worker := start(t, p.worker(calm))
	worker.awaitStatus(t, "live", 200)
	worker.awaitStatus(t, "ready", 200)
	require.Equal(t, 200, worker.ask(t, "startup"))

	p.submit(t, "2026-0001")
	require.Eventually(t, func() bool {
		return p.text(t, `select status from dbos.workflow_status where workflow_uuid = 'remind/2026-0001'`) == "SUCCESS"
	}, patience, poll)
	require.Equal(t, "2026-0001", p.text(t, `select invoice from invoices.reminder`))

	worker.signal(t, syscall.SIGTERM)
	require.Equal(t, boot.ExitClean, worker.wait(t).code)
	require.Equal(t, "released", p.text(t, `select state from workflow_coordination.executor`))
}

// An interrupt from a terminal is an orderly stop too.
func TestAnInterruptStopsAWorkerInAnOrderlyWay(t *testing.T) {
	t.Parallel()
	p := migrated(t)
	worker := start(t, p.worker(calm))
	worker.awaitStatus(t, "ready", 200)
	worker.signal(t, syscall.SIGINT)
	require.Equal(t, boot.ExitClean, worker.wait(t).code)
	require.Zero(t, p.active(t))
}

// Whoever lost the lease ends with the status that asks for a fresh process, and releases nothing (D6, D7).
func TestAWorkerThatLostItsLeaseAsksForAFreshProcess(t *testing.T) {
	t.Parallel()
	p := migrated(t)
	worker := start(t, p.worker(fast))
	worker.awaitStatus(t, "ready", 200)
	p.exec(t, `update workflow_coordination.executor set state = 'revoked', revoked_at = clock_timestamp()`)
	out := worker.wait(t)
	require.Equal(t, boot.ExitRestart, out.code)
	require.Contains(t, out.stdout, `"reason":"lease_lost"`)
	require.Equal(t, "revoked", p.text(t, `select state from workflow_coordination.executor`))
}

// With the database down a worker is live, not ready, and tries again with a fresh executor until it is back (H6); a
// later outage that outlasts the watchdog ends it (H5).
func TestAWorkerWaitsForTheDatabaseAtStartAndNotForEverLater(t *testing.T) {
	t.Parallel()
	server, err := localpg.Start(t.Context(), localpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close(context.WithoutCancel(t.Context())) })
	p := empty(t, server)
	require.Equal(t, 0, p.migrate(t).code)
	require.NoError(t, server.Stop(t.Context(), localpg.Fast))

	worker := start(t, p.worker(fast))
	second := worker.await(t, "second attempt", func(l line) bool { return l.Attempt == 2 })
	require.Equal(t, "database_unavailable", second.Reason)
	require.Equal(t, 200, worker.ask(t, "live"))
	require.Equal(t, 503, worker.ask(t, "ready"))
	require.Equal(t, 503, worker.ask(t, "startup"))

	require.NoError(t, server.StartAgain(t.Context()))
	worker.awaitStatus(t, "ready", 200)

	require.NoError(t, server.Stop(t.Context(), localpg.Immediate))
	require.Equal(t, boot.ExitRestart, worker.wait(t).code)
	require.NoError(t, server.StartAgain(t.Context()), "so that the database can be dropped")
}

// A supervisor's stop does not wait for a start that has no end in sight.
func TestATerminationDuringTheStartIsClean(t *testing.T) {
	t.Parallel()
	// Production timing: the pause in which the signal arrives is up to 30 s long; patience with it is not tested, an
	// attempt more would be seen.
	worker := start(t, []string{"DATABASE_URL=postgres://w:" + password + "@127.0.0.1:1/x", "HTTP_ADDRESS=127.0.0.1:0"})
	worker.await(t, "attempt", func(l line) bool { return l.Attempt == 3 })
	worker.signal(t, syscall.SIGTERM)
	out := worker.wait(t)
	require.Equal(t, boot.ExitClean, out.code)
	require.Empty(t, out.stderr)
	lines := worker.lines(t)
	require.Equal(t, "stop_requested", lines[len(lines)-1].Reason)
	require.NotContains(t, out.stdout, `"attempt":4`)
}

func (p place) submit(t testing.TB, invoice string) {
	t.Helper()
	runAPI(t, p.url("api"), invoice)
}

// runAPI runs the guide's API program.
func runAPI(t testing.TB, url, invoice string) {
	t.Helper()
	api := exec.Command(program(t, "api"), invoice)
	api.Env = []string{"DATABASE_URL=" + url}
	out, err := api.CombinedOutput()
	require.NoError(t, err, string(out))
}
