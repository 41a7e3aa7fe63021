package corpus

import (
	"context"
	"fmt"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/source"
	"github.com/kesita/platform/worker/settings"
)

// tries is how often a disturbed source is read before the document is refused.
const tries = 4

// Service describes the corpus to worker/app, worker/migrate and the command line.
func Service() app.Service {
	return app.Service{
		Application:   Application,
		Version:       Version,
		Schema:        "corpus",
		Migrations:    Migrations,
		Queues:        []string{Queue},
		CheckSettings: checkSettings,
		Register:      register,
		Settle:        func(w *app.Worker) quarantine.Hook { return SettleExhausted(w.Pool) },
	}
}

// checkSettings finds a BLOB_URL that no driver of this binary serves. An opener reads nothing when it is made.
func checkSettings(s settings.Settings) error {
	_, err := source.New(sourceConfig(s))
	if err != nil {
		return fmt.Errorf("%w: BLOB_URL: %w", boot.ErrConfiguration, err)
	}
	return nil
}

func sourceConfig(s settings.Settings) source.Config {
	return source.Config{Base: s.BlobURL.Reveal(), Limit: s.MaxDocumentBytes}
}

// register makes the workflow known, and the readiness of the business tables (H3).
func register(ctx context.Context, w *app.Worker) error {
	config := sourceConfig(w.Settings)
	config.HTTP, config.Confirm = w.HTTP, w.Runtime.ConfirmLease
	sources, err := source.New(config)
	if err != nil {
		return err // checkSettings let it through
	}
	if err := index.Check(ctx, w.Pool); err != nil {
		return err
	}
	w.AddCheck(health.Check{Name: "business_database", Reason: signal.DatabaseDown, Run: func(ctx context.Context) error {
		return index.Check(ctx, w.Pool)
	}})
	RegisterIndex(w, IndexConfig{
		Database: w.Pool, Sources: sources, Tries: tries,
		FirstPause: w.Settings.Timing.StepRetryFirst, LongestPause: w.Settings.Timing.StepRetryCap,
	})
	return nil
}
