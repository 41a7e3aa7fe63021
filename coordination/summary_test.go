package coordination_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// summary is the line that a live replica repeats. A field that the line lacks stays nil.
type summary struct {
	Operation  signal.Operation `json:"operation"`
	Reason     signal.Reason    `json:"reason"`
	Executor   string           `json:"executor_id"`
	Service    string           `json:"application"`
	Version    string           `json:"application_version"`
	Active     *int             `json:"active_workflows"`
	LeaseLeft  *int64           `json:"lease_left_ms"`
	RenewalAge *int64           `json:"renewal_age_ms"`
	ScanAge    *int64           `json:"scan_age_ms"`
	ProbeAge   *int64           `json:"probe_age_ms"`
}

// summaries are the summary lines so far.
func (l *log) summaries(t *testing.T) (found []summary) {
	t.Helper()
	for text := range strings.Lines(l.text()) {
		var line summary
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		if line.Operation == "executor_coordination" && line.Reason == "lease_active" {
			found = append(found, line)
		}
	}
	return found
}

// K12: silence can be alerted on and live replicas can be counted, from one line of each.
func TestALaunchedReplicaKeepsSayingThatItsLeaseIsActiveAndHowOldItsPartsAre(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	c := config(d)
	c.Timing.Summary = c.Timing.Scan
	opened := make(chan struct{})
	r := launch(t, c, gated(opened, false))
	harness.Submit(t, d, orders, "shop.order", "a")
	o.AwaitOrder(t, "running/a")
	before := len(r.log.summaries(t))
	// The first of these may have been counted before the workflow ran.
	harness.Await(t, "two more summaries are written", func() bool { return len(r.log.summaries(t)) >= before+2 })
	line := r.log.summaries(t)[before+1]
	require.Equal(t, r.id(), line.Executor)
	require.Equal(t, fixture.Application, line.Service)
	require.Equal(t, fixture.Version, line.Version)
	require.NotNil(t, line.Active)
	require.Equal(t, 1, *line.Active)
	require.NotNil(t, line.LeaseLeft)
	require.Positive(t, *line.LeaseLeft)
	require.LessOrEqual(t, *line.LeaseLeft, c.Timing.Lease.Milliseconds())
	for part, age := range map[string]*int64{"renewal": line.RenewalAge, "scan": line.ScanAge, "probe": line.ProbeAge} {
		require.NotNil(t, age, part)
		require.GreaterOrEqual(t, *age, int64(0), part)
		require.Less(t, *age, c.Timing.Watchdog.Milliseconds(), part)
	}
	close(opened)
	o.AwaitStatus(t, "SUCCESS", "a")
	require.NoError(t, r.stop(t.Context()))
}
