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
			s := settings.Settings{
				ProviderURL: settings.NewSecret("http://provider.test"), ProviderTimeout: c.timeout, ProviderConcurrency: 4, Timing: scaled,
			}
			require.NoError(t, checkSettings(s))
			provider := providerSettings(s)
			require.Equal(t, c.attempts, provider.Attempts)
			require.Less(t, provider.Longest(), scaled.StepExecute)
		})
	}

	t.Run("TooLongForOneIsAConfigurationFault", func(t *testing.T) {
		t.Parallel()
		err := checkSettings(settings.Settings{
			ProviderURL: settings.NewSecret("http://provider.test"), ProviderTimeout: time.Hour, ProviderConcurrency: 4, Timing: timing.Production(),
		})
		require.ErrorIs(t, err, boot.ErrConfiguration)
		require.ErrorContains(t, err, "step budget")
	})

	t.Run("WhatIsAtFaultAlreadyIsNotToldTwice", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, checkSettings(settings.Settings{}))
	})
}
