package product

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/settings"
)

// Whatever the settings allow, a call of the provider ends before its step does (P5).
func TestProviderAttemptsFitTheBudgetOfTheStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		factor   float64
		timeout  time.Duration
		attempts int
	}{
		"Demo":           {0.1, 30 * time.Second, 3},
		"DemoAtTheLimit": {0.1, 3*time.Minute - 1, 1},
		"Production":     {1, 30 * time.Second, 4},
		"Shortest":       {0.05, 30 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scaled := timing.Production().Scale(c.factor)
			provider, err := providerSettings(settings.Settings{
				ProviderURL: settings.NewSecret("http://provider.test"), ProviderTimeout: c.timeout, ProviderConcurrency: 4, Timing: scaled,
			})
			require.NoError(t, err)
			require.Equal(t, c.attempts, provider.Attempts)
			require.Less(t, provider.Longest(), scaled.StepExecute)
		})
	}

	t.Run("TooLongForOneIsAConfigurationFault", func(t *testing.T) {
		t.Parallel()
		_, err := providerSettings(settings.Settings{
			ProviderURL: settings.NewSecret("http://provider.test"), ProviderTimeout: time.Hour, ProviderConcurrency: 4, Timing: timing.Production(),
		})
		require.ErrorIs(t, err, boot.ErrConfiguration)
	})
}
