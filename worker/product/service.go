package product

import (
	"context"
	"fmt"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/product/ledger"
	"github.com/kesita/platform/worker/product/run"
	"github.com/kesita/platform/worker/product/store"
	"github.com/kesita/platform/worker/product/summarise"
	"github.com/kesita/platform/worker/product/task"
	"github.com/kesita/platform/worker/settings"
)

// Application and Version name the service in its database and its journal (C5).
const (
	Application = "kesita-product"
	Version     = "kesita-product-v1"
)

const (
	// providerAttempts bounds the requests of one call, as far as the step's
	// budget has room for them.
	providerAttempts = 4
	// providerResponseBytes holds a summary of the longest sentences with every
	// character escaped.
	providerResponseBytes = 1 << 20
)

// Service describes the product to worker/app, worker/migrate and the command line.
func Service() app.Service {
	return app.Service{
		Application:   Application,
		Version:       Version,
		Schema:        "product",
		Migrations:    Migrations,
		Queues:        []string{task.Queue},
		Needs:         []string{"PROVIDER_URL"},
		CheckSettings: checkSettings,
		Register:      register,
		Settle:        func(w *app.Worker) quarantine.Hook { return run.SettleExhausted(w.Pool) },
	}
}

// checkSettings finds a provider that no step has room for. What it is derived from may be at fault itself: then that
// was told already.
func checkSettings(s settings.Settings) error {
	if !s.ProviderURL.IsSet() || s.ProviderTimeout == 0 || s.ProviderConcurrency == 0 || s.Timing.StepExecute == 0 {
		return nil
	}
	if err := providerSettings(s).Validate(s.Timing.StepExecute); err != nil {
		return fmt.Errorf("%w: %w", boot.ErrConfiguration, err)
	}
	return nil
}

// register makes the workflow known, and the readiness of what the product leans
// on (H3). A ledger that cannot answer because of a fault that does not heal
// ends the start (H6); one that is away makes the worker unready.
func register(ctx context.Context, w *app.Worker) error {
	if err := store.Check(ctx, w.Pool); err != nil {
		return err
	}
	admission, err := ledger.Open(ctx, ledgerSettings(w.Settings))
	if err != nil {
		return fmt.Errorf("%w: %w", boot.ErrConfiguration, err)
	}
	w.OnStop(admission.Close)
	if err := admission.Check(ctx); err != nil && !ledger.Heals(err) {
		return err
	}
	w.AddCheck(health.Check{Name: "business_database", Reason: signal.DatabaseDown, Run: func(ctx context.Context) error {
		return store.Check(ctx, w.Pool)
	}})
	if admission.Configured() {
		w.AddCheck(health.Check{Name: "control_ledger", Reason: signal.DatabaseDown, Run: admission.Check})
	}
	run.Register(w, run.Config{Database: w.Pool, Provider: summarise.New(w.HTTP, providerSettings(w.Settings)), Admission: admission})
	return nil
}

// providerSettings derives how the provider is called. A pause is never longer
// than an attempt, and there are as many attempts as the step's budget has room
// for (P5).
func providerSettings(s settings.Settings) summarise.Settings {
	provider := summarise.Settings{
		BaseURL: s.ProviderURL.Reveal(), AttemptTimeout: s.ProviderTimeout, Attempts: providerAttempts,
		FirstPause: min(s.Timing.StepRetryFirst, s.ProviderTimeout), LongestPause: s.ProviderTimeout,
		Concurrency: s.ProviderConcurrency, ResponseBytes: providerResponseBytes,
	}
	for provider.Attempts > 1 && provider.Longest() >= s.Timing.StepExecute {
		provider.Attempts--
	}
	return provider
}

func ledgerSettings(s settings.Settings) ledger.Settings {
	return ledger.Settings{
		URL: s.ControlDatabaseURL.Reveal(), Timeout: s.Timing.Connect,
		FirstPause: s.Timing.StepRetryFirst, LongestPause: s.Timing.StepRetryCap,
	}
}
