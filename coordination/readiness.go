package coordination

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/signal"
)

// Readiness returns the conditions under which this worker may be called ready (H3): recent renewal, scan and probe,
// no verdict, and a lease that the database confirms now. A service adds its own.
func (r *Runtime) Readiness() []health.Check {
	recent := func(part string, reason signal.Reason, period time.Duration) health.Check {
		return health.Check{Name: part, Reason: reason, Run: func(context.Context) error {
			if age := r.dog.Ages()[part]; age > 2*period+r.config.Timing.RenewAttempt {
				return fmt.Errorf("%s is %s old", part, age)
			}
			return nil
		}}
	}
	t := r.config.Timing
	return []health.Check{
		{Name: "verdict", Reason: signal.LeaseLost, Run: func(context.Context) error {
			if r.condemned() {
				return fmt.Errorf("watchdog: %s", r.dog.Reason())
			}
			return nil
		}},
		recent(partRenewal, signal.RenewalStalled, t.Renew),
		recent(partScan, signal.ScanStalled, t.Scan),
		recent(partProbe, signal.ProbeStalled, t.Probe+t.QueuePoll),
		{Name: "lease", Reason: signal.LeaseLost, Run: func(ctx context.Context) error {
			_, err := r.lease.Check(ctx)
			return err
		}},
	}
}

// warnings passes on records of level warning and above only.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
