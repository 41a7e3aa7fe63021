package settings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/settings"
)

const database = "DATABASE_URL=postgres://w:p@localhost:5432/product?sslmode=disable"

func TestLoadFillsInDefaults(t *testing.T) {
	t.Parallel()
	s, err := settings.Load([]string{database, "QUEUE_CONCURRENCY="})
	require.NoError(t, err)
	require.Equal(t, "postgres://w:p@localhost:5432/product?sslmode=disable", s.DatabaseURL.Reveal())
	require.Equal(t, ":8080", s.HTTPAddress)
	require.Equal(t, 4, s.QueueConcurrency, "an empty variable counts as unset")
	require.Equal(t, 4, s.ProviderConcurrency)
	require.Equal(t, timing.Production(), s.Timing)
	require.Equal(t, slog.LevelInfo, s.LogLevel)
	require.False(t, s.ProviderURL.IsSet())
}

func TestLoadReadsEveryKindOfValue(t *testing.T) {
	t.Parallel()
	s, err := settings.Load([]string{
		database, "TIMING=demo", "PROVIDER_TIMEOUT=5s", "MAX_DOCUMENT_BYTES=2048", "LOG_LEVEL=debug",
		"PROVIDER_URL=https://provider.example", "BLOB_URL=/srv", "HTTP_ADDRESS=[::1]:0", "PATH=/bin", "HOME=/",
	}, "PROVIDER_URL")
	require.NoError(t, err)
	require.Equal(t, timing.Production().Scale(0.1), s.Timing)
	require.Equal(t, 5*time.Second, s.ProviderTimeout)
	require.EqualValues(t, 2048, s.MaxDocumentBytes)
	require.Equal(t, slog.LevelDebug, s.LogLevel)

	s, err = settings.Load([]string{database, "TIMING=0.5"})
	require.NoError(t, err)
	require.Equal(t, timing.Production().Scale(0.5), s.Timing)
}

// Every fault is in one answer, with the variable, what is wrong and what to write; nothing heals it (H6).
func TestLoadTellsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	s, err := settings.Load([]string{
		"DATABSE_URL=postgres://localhost/x", "CONTROL_DATABASE_URL=postgres://u:p@db.example/ledger?sslmode=require", "HTTP_ADDRESS=8080",
		"QUEUE_CONCURRENCY=many", "BUSINESS_CONNECTIONS=1", "JOURNAL_CONNECTIONS=99999999999", "MAX_DOCUMENT_BYTES=0",
		"PROVIDER_TIMEOUT=30", "PROVIDER_CONCURRENCY=0", "HTTP_TIMEOUT=30m", "TIMING=0.0001", "LOG_LEVEL=loud", "BLOB_URL=srv", "KESITA_QUEUE_CONCURRENCY=4",
	}, "PROVIDER_URL")
	require.ErrorIs(t, err, boot.ErrConfiguration)
	require.Equal(t, boot.ExitConfiguration, boot.Judge(err).ExitCode)
	require.Equal(t, strings.Split(strings.TrimSpace(`
DATABASE_URL is not set; write postgres://LOGIN:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full
CONTROL_DATABASE_URL would cross a network without verifying the server's certificate; use sslmode=verify-full; write postgres://LOGIN:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full
HTTP_ADDRESS is not an address to listen on; write host:port or :port
QUEUE_CONCURRENCY is not a whole number; write a whole number from 1 to 1000, such as 4
BUSINESS_CONNECTIONS is out of bounds; write a whole number from 2 to 500, such as 10
JOURNAL_CONNECTIONS is out of bounds; write a whole number from 5 to 500, such as 20
PROVIDER_URL is not set; write http://HOST:PORT or https://HOST
PROVIDER_TIMEOUT is not a duration; write a duration from 100ms to 30m, such as 30s
PROVIDER_CONCURRENCY is out of bounds; write a whole number from 1 to 1000, such as 4
BLOB_URL is neither an absolute path nor a URL; write an absolute path, a file:// URL or a bucket URL
MAX_DOCUMENT_BYTES is out of bounds; write a whole number from 1024 to 1073741824, such as 67108864
TIMING is out of bounds; write production, demo, or a factor from 0.05 to 20 such as 0.5
LOG_LEVEL is not understood; write debug, info, warn or error
DATABSE_URL is not a known variable; write DATABASE_URL`), "\n"), strings.Split(err.Error(), "\n"))
	require.False(t, s.DatabaseURL.IsSet() || s.ControlDatabaseURL.IsSet() || s.BlobURL.IsSet(), "what is at fault is not handed out")
	require.Zero(t, s.Timing)
}

// Outbound calls end before the step that makes them does (P5).
func TestLoadKeepsOutboundTimeoutsBelowTheStepBudget(t *testing.T) {
	t.Parallel()
	_, err := settings.Load([]string{database, "TIMING=demo", "PROVIDER_TIMEOUT=3m", "HTTP_TIMEOUT=2m59s"})
	require.EqualError(t, err, "PROVIDER_TIMEOUT is not less than the budget of a step, 3m0s; write a shorter duration, or a larger TIMING")
}

func TestLoadPointsAtMisspelledVariables(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]string{
		"DATABASE_ULR":     "", // the right one is set: nothing is lost
		"QUEUE_CONCURENCY": "QUEUE_CONCURRENCY", "KESITA_TIMING": "TIMING", "log_level": "LOG_LEVEL", "TIMINGS": "TIMING",
		"LANG": "", "HOSTNAME": "", "HTTP_PROXY": "", "NO_PROXY": "", "KESITA_OTHER": "", "PGPASSWORD": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := settings.Load([]string{database, name + "=x"})
			if known == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, name+" is not a known variable; write "+known)
		})
	}
}

// No secret is ever printed, wherever it was put.
func TestNothingThatIsPrintedHoldsASecret(t *testing.T) {
	t.Parallel()
	const planted = "Pl4nted"
	shapes := []string{
		planted, "postgres://u:" + planted + "@h:5432/d", "postgres://u:" + planted + "@localhost/d?sslmode=disable",
		"postgres://u:" + planted + "@h:port/d", "postgres://u:a#" + planted + "@h/d", "postgres://u:%" + planted + "@h/d",
		"host=h password=" + planted + " dbname=d", "host=h password='" + planted, "password=" + planted + " sslmode=nonsense",
		"postgres://u:x@h/d?sslrootcert=/nowhere/" + planted, "postgres://u:x@h/d?" + planted + "=1&sslmode=disable",
		"https://u:" + planted + "@h/", "http://h/?token=" + planted, "s3://bucket?key=" + planted, "://" + planted, "\x7f" + planted,
	}
	names := []string{
		"DATABASE_URL", "CONTROL_DATABASE_URL", "HTTP_ADDRESS", "QUEUE_CONCURRENCY", "PROVIDER_URL", "PROVIDER_TIMEOUT", "BLOB_URL",
		"MAX_DOCUMENT_BYTES", "BUSINESS_CONNECTIONS", "JOURNAL_CONNECTIONS", "HTTP_TIMEOUT", "TIMING", "LOG_LEVEL", "DATABSE_URL", "KESITA_TIMING",
	}
	type holder struct{ inside settings.Settings } // fmt calls no method on unexported fields
	rapid.Check(t, func(t *rapid.T) {
		environ := []string{}
		for _, name := range names {
			if shape := rapid.SampledFrom(append(shapes, "")).Draw(t, name); shape != "" {
				environ = append(environ, name+"="+shape)
			}
		}
		s, err := settings.Load(environ)
		var printed bytes.Buffer
		var faults settings.Faults
		errors.As(err, &faults)
		dump, jsonErr := json.Marshal(map[string]any{"settings": s, "faults": faults})
		require.NoError(t, jsonErr)
		fmt.Fprintf(&printed, "%v %+v %#v %s %v %+v %s", s, s, s, dump, err, holder{s}, s.DatabaseURL)
		slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "settings", s, "url", s.DatabaseURL, "error", err)
		require.NotContains(t, printed.String(), planted)
	})
}
