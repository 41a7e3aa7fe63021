// Package boot owns the way from nothing to a launched worker: attempts, the pause between them, and the verdict on
// an error - try again, or stop at once and say why.
//
// The error is authoritative: what waiting can heal is retried with jitter, everything else ends the process with an
// exit status of its own (H6). The package knows no runtime and no service; it is handed one attempt as a function.
package boot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// Exit codes, after sysexits.
const (
	ExitClean         = 0
	ExitUsage         = 64
	ExitUnavailable   = 69
	ExitInternal      = 70
	ExitRestart       = 75 // the watchdog or a lost lease: a fresh process must take over
	ExitSchema        = 76
	ExitPermission    = 77
	ExitConfiguration = 78
)

// ErrSDK marks a failure inside the SDK's own start, whose cause the SDK does not hand out. It is retried: the
// permanent causes were checked before.
var ErrSDK = errors.New("start sdk")

// ErrConfiguration marks configuration that no waiting can heal.
var ErrConfiguration = errors.New("invalid configuration")

// Verdict is what an error means for the start.
type Verdict struct {
	Retry    bool
	Reason   signal.Reason
	ExitCode int
}

// Judge returns the verdict on a start-up error: what waiting can heal is tried again, what it does not know is fatal.
// A cause that the server named wins over ErrSDK.
func Judge(err error) Verdict {
	if verdict, known := bySentinel(err); known {
		return verdict
	}
	if verdict, known := byClass()[fault.Of(err)]; known {
		return verdict
	}
	if errors.Is(err, ErrSDK) || errors.Is(err, context.DeadlineExceeded) {
		return again()
	}
	return fatal(signal.Unclassified, ExitInternal)
}

func fatal(reason signal.Reason, code int) Verdict { return Verdict{Reason: reason, ExitCode: code} }

func again() Verdict {
	return Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: ExitUnavailable}
}

func bySentinel(err error) (verdict Verdict, known bool) {
	switch {
	case errors.Is(err, lease.ErrIdentityLost):
		return fatal(signal.IdentityLost, ExitConfiguration), true
	case errors.Is(err, lease.ErrNotWorker):
		return fatal(signal.NotAWorker, ExitPermission), true
	case errors.Is(err, schema.ErrOtherApplication):
		return fatal(signal.OtherApplication, ExitConfiguration), true
	case errors.Is(err, lease.ErrSchemaOld):
		return fatal(signal.SchemaMissing, ExitSchema), true
	case errors.Is(err, journal.ErrCatalog):
		return fatal(signal.CatalogMismatch, ExitSchema), true
	case errors.Is(err, guard.ErrEndpoint), errors.Is(err, guard.ErrPlaintext), errors.Is(err, ErrConfiguration), errors.Is(err, timing.ErrUnsafe):
		return fatal(signal.Configuration, ExitConfiguration), true
	}
	return Verdict{}, false
}

func byClass() map[fault.Class]Verdict {
	return map[fault.Class]Verdict{
		fault.Outage:           again(),
		fault.Transient:        again(),
		fault.Fenced:           again(),
		fault.Authentication:   fatal(signal.Authentication, ExitPermission),
		fault.Permission:       fatal(signal.Permission, ExitPermission),
		fault.NotAWorker:       fatal(signal.NotAWorker, ExitPermission),
		fault.DatabaseMissing:  fatal(signal.DatabaseMissing, ExitConfiguration),
		fault.SchemaMissing:    fatal(signal.SchemaMissing, ExitSchema),
		fault.GuardsIncomplete: fatal(signal.GuardsIncomplete, ExitSchema),
		fault.CatalogMismatch:  fatal(signal.CatalogMismatch, ExitSchema),
		fault.OtherApplication: fatal(signal.OtherApplication, ExitConfiguration),
		fault.IdentityLost:     fatal(signal.IdentityLost, ExitConfiguration),
		fault.Configuration:    fatal(signal.Configuration, ExitConfiguration),
	}
}

// Config is what Run needs.
type Config struct {
	Timing timing.Timing
	Log    *signal.Log
	// Attempt makes one start. Each call must use a fresh executor and SDK context (H6).
	Attempt func(ctx context.Context) error
	// Starting is told each attempt's number, from 1, and the pause that follows a failure.
	Starting func(attempt int, nextDelay time.Duration)
}

// Run calls Attempt until it succeeds, fails for good, or ctx ends. Pauses grow from StartupFirst to StartupCap, each
// drawn from the upper half of its ceiling (H6).
func Run(ctx context.Context, config Config) error {
	pauses := newPauses(config.Timing)
	for attempt := 1; ; attempt++ {
		delay := pauses.NextBackOff()
		config.Starting(attempt, delay)
		err := config.Attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		verdict := Judge(err)
		attrs := []slog.Attr{slog.Int("attempt", attempt), signal.Fault(err)}
		if !verdict.Retry {
			config.Log.Error(ctx, signal.Startup, verdict.Reason, attrs...)
			return err
		}
		config.Log.Warn(ctx, signal.Startup, verdict.Reason, append(attrs, slog.Int64("next_delay_ms", delay.Milliseconds()))...)
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// newPauses: a middle m with a spread of one third gives [2m/3, 4m/3], which is [c/2, c] for m = 3c/4.
func newPauses(t timing.Timing) *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = t.StartupFirst * 3 / 4
	pauses.MaxInterval = t.StartupCap * 3 / 4
	pauses.Multiplier = 2
	pauses.RandomizationFactor = 1.0 / 3
	pauses.Reset()
	return pauses
}
