package timing_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/timing"
)

// Each number in the document is written as "81 s (lease + scan + queue poll)"; the code computes it.
func TestEveryTimeInTheFailureModesIsTheOneInTheCode(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../docs/failure-modes.md")
	require.NoError(t, err)
	p := timing.Production()
	limits := map[string]time.Duration{
		"lease": p.Lease, "scan": p.Scan, "queue poll": p.QueuePoll, "transaction": p.Transaction, "watchdog": p.Watchdog,
		"forced exit": p.ForcedExit, "claim backoff": p.ClaimBackoff, "claim jitter": p.BacklogStall(0) - p.ClaimBackoff - 2*p.Monitor,
		"monitor": p.Monitor, "stray": p.Stray, "stray third": p.Stray / 3, "step execute": p.StepExecute, "step cooperate": p.StepCooperate,
		"probation": p.Probation, "startup cap": p.StartupCap, "renew attempt": p.RenewAttempt, "silent peer": p.SilentPeer,
		"renew": p.Renew, "shutdown": p.Shutdown,
	}
	found := regexp.MustCompile(`(\d+) s\s\(([a-z +-]+)\)`).FindAllStringSubmatch(string(body), -1)
	require.Greater(t, len(found), 25)
	for _, f := range found {
		sum := time.Duration(0)
		for _, part := range strings.FieldsFunc(strings.ReplaceAll(f[2], "-", "+-"), func(r rune) bool { return r == '+' }) {
			name, minus := strings.CutPrefix(strings.TrimSpace(part), "-")
			value, known := limits[strings.TrimSpace(name)]
			require.True(t, known, "%s: no limit is called %q", f[0], name)
			if minus {
				value = -value
			}
			sum += value
		}
		require.InDelta(t, sum.Seconds(), number(t, f[1]), 0.001, f[0])
	}
}

func number(t *testing.T, digits string) float64 {
	t.Helper()
	d, err := time.ParseDuration(digits + "s")
	require.NoError(t, err)
	return d.Seconds()
}
