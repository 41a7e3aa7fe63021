package coordination_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// readiness is a launched replica as its health sees it.
func readiness(r *replica) *health.Health {
	h := health.New(r.Log(), pace().Shutdown)
	h.Launched(r.Readiness())
	return h
}

func awaitReady(t *testing.T, h *health.Health) {
	t.Helper()
	harness.Await(t, "the worker is ready", func() bool { return len(h.Evaluate(t.Context())) == 0 })
}

// H3: a worker of which one part stands still is not ready some time before it ends, and says which part.
func TestReadinessNamesThePartThatStandsStillBeforeTheWatchdogDoes(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]struct {
		check  string
		reason signal.Reason
		stop   func(t *testing.T, d *fixture.Database, r *replica)
	}{
		"Renewals": {"renewal", signal.RenewalStalled, func(t *testing.T, d *fixture.Database, r *replica) {
			harness.Inject(t, d, harness.Fault{
				Table: "workflow_coordination.executor", On: "update", Code: "55000", When: "new.executor_id = '" + r.id() + "'",
			})
		}},
		"Scans": {"scan", signal.ScanStalled, func(t *testing.T, d *fixture.Database, _ *replica) {
			harness.Watch(t, d).Exec(t, `alter function workflow_coordination.recovery_candidates rename to out_of_reach`)
		}},
		"Probes": {"probe", signal.ProbeStalled, func(t *testing.T, d *fixture.Database, r *replica) {
			harness.Inject(t, d, harness.Fault{
				Table: "dbos.workflow_status", On: "update", Code: "55000", When: "new.queue_name = 'kesita-probe-" + r.id() + "' and new.status = 'PENDING'",
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			r := launch(t, config(d), single)
			h := readiness(r)
			awaitReady(t, h)
			part.stop(t, d, r)
			harness.Await(t, "readiness names it", func() bool {
				failing := h.Evaluate(t.Context())
				require.False(t, r.condemned(), "readiness was too late: %v", failing)
				return len(failing) == 1 && failing[0] == health.Failure{Check: part.check, Reason: part.reason}
			})
			// The watchdog agrees.
			<-r.Verdict()
			harness.Await(t, "the watchdog says why", func() bool { return r.log.count(signal.Watchdog, part.reason) == 1 })
			require.Equal(t, boot.ExitRestart, r.awaitExit(t))
		})
	}
}

// H3, D2: the database's word on the lease counts, not what the worker remembers of its last renewal.
func TestReadinessAsksTheDatabaseForTheLease(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	r := launch(t, config(d), single)
	h := readiness(r)
	awaitReady(t, h)
	expire(t, d, r)
	require.Contains(t, h.Evaluate(t.Context()), health.Failure{Check: "lease", Reason: signal.LeaseLost})
	<-r.Verdict()
	require.Contains(t, h.Evaluate(t.Context()), health.Failure{Check: "verdict", Reason: signal.LeaseLost})
	require.Equal(t, boot.ExitRestart, r.awaitExit(t))
}
