package health_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/signal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get asks one path and returns status and body.
func get(t *testing.T, h *health.Health, path string) (status int, body map[string]any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	require.Equal(t, "application/json", recorder.Header().Get("Content-Type"))
	require.Equal(t, "no-store", recorder.Header().Get("Cache-Control"))
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &body))
	return recorder.Code, body
}

func check(name string, reason signal.Reason, err error) health.Check {
	return health.Check{Name: name, Reason: reason, Run: func(context.Context) error { return err }}
}

func logged() (h *health.Health, lines *bytes.Buffer) {
	lines = &bytes.Buffer{}
	return health.New(signal.New(signal.JSON(lines, slog.LevelDebug)), time.Minute), lines
}

// H3: a database that is away must not make a supervisor restart the fleet.
func TestLiveAndStartupAskNobody(t *testing.T) {
	t.Parallel()
	h, _ := logged()
	h.Launched([]health.Check{{Name: "lease", Run: func(context.Context) error {
		t.Error("asked")
		return nil
	}}})
	status, body := get(t, h, "/health/live")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"status": "live"}, body)
	status, _ = get(t, h, "/health/startup")
	require.Equal(t, http.StatusOK, status)
}

// H6: who waits for a start can see the attempt and when the next one comes.
func TestStartupNamesTheAttemptAndTheNextDelay(t *testing.T) {
	t.Parallel()
	h, _ := logged()
	status, _ := get(t, h, "/health/startup")
	require.Equal(t, http.StatusServiceUnavailable, status)
	h.Starting(3, 2500*time.Millisecond)
	status, body := get(t, h, "/health/startup")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, map[string]any{"status": "starting", "attempt": 3.0, "next_delay_ms": 2500.0}, body)
	h.Launched(nil)
	status, body = get(t, h, "/health/startup")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"status": "started", "attempt": 3.0}, body)
	h.Starting(1, time.Second)
	status, _ = get(t, h, "/health/startup")
	require.Equal(t, http.StatusServiceUnavailable, status)
}

// H3, H6: not ready until launched, with the reason.
func TestAWorkerIsNotReadyBeforeItsLaunch(t *testing.T) {
	t.Parallel()
	h, lines := logged()
	status, body := get(t, h, "/health/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, map[string]any{
		"status": "not ready", "failing": []any{map[string]any{"check": "launch", "reason": "not_ready"}},
	}, body)
	require.Empty(t, lines.String(), "it never was ready: no transition")
	h.Launched(nil)
	status, body = get(t, h, "/health/ready")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"status": "ready"}, body)
}

// H3: each failing check is named with its reason code, and what the error said stays inside.
func TestEachFailingCheckIsNamedWithAReasonAndWithoutDetails(t *testing.T) {
	t.Parallel()
	h, lines := logged()
	secret := errors.New("password planted of database planted")
	h.Launched([]health.Check{
		check("renewal", signal.RenewalStalled, secret), check("scan", signal.ScanStalled, nil),
		check("lease", signal.LeaseLost, secret),
	})
	status, body := get(t, h, "/health/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, []any{
		map[string]any{"check": "renewal", "reason": "renewal_stalled"}, map[string]any{"check": "lease", "reason": "lease_lost"},
	}, body["failing"])
	text, err := json.Marshal(body)
	require.NoError(t, err)
	require.NotContains(t, string(text)+lines.String(), "planted")
}

// O1: dbos_readiness tells transitions, not polls.
func TestTransitionsAreLoggedAndPollsAreNot(t *testing.T) {
	t.Parallel()
	h, lines := logged()
	var fail error
	h.Launched([]health.Check{{Name: "lease", Reason: signal.LeaseLost, Run: func(context.Context) error { return fail }}})
	poll := func() {
		for range 5 {
			get(t, h, "/health/ready")
		}
	}
	poll()
	fail = errors.New("lost")
	poll()
	fail = nil
	poll()
	h.Stopping(t.Context())
	h.Stopping(t.Context())
	poll()
	list := strings.Split(strings.TrimSpace(lines.String()), "\n")
	require.Len(t, list, 4)
	for i, want := range []string{
		`"level":"INFO","msg":"dbos_readiness","operation":"dbos_readiness","reason":"ready"`,
		`"level":"WARN","msg":"dbos_readiness","operation":"dbos_readiness","reason":"lease_lost","check":"lease"`,
		`"reason":"ready"`,
		`"reason":"stop_requested","check":"launch"`,
	} {
		require.Contains(t, list[i], want)
	}
}

// H1: a worker that stops takes no more work, and its liveness is not in question.
func TestAStoppingWorkerIsLiveAndNotReady(t *testing.T) {
	t.Parallel()
	h, _ := logged()
	h.Launched(nil)
	h.Stopping(t.Context())
	status, _ := get(t, h, "/health/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = get(t, h, "/health/live")
	require.Equal(t, http.StatusOK, status)
}

// H1: the stop came while the checks ran and passed.
func TestAStopDuringAnEvaluationIsNotAnsweredWithReady(t *testing.T) {
	t.Parallel()
	h, lines := logged()
	h.Launched([]health.Check{{Name: "slow", Run: func(ctx context.Context) error {
		h.Stopping(ctx)
		return nil
	}}})
	status, _ := get(t, h, "/health/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Empty(t, lines.String())
}

// A check that hangs is given the evaluation's budget and then counts as failed, with the others still asked.
func TestACheckThatHangsIsBounded(t *testing.T) {
	t.Parallel()
	h := health.New(signal.New(nil), 20*time.Millisecond)
	h.Launched([]health.Check{
		{Name: "lease", Reason: signal.LeaseLost, Run: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}},
		check("ledger", signal.DatabaseDown, nil),
	})
	_, body := get(t, h, "/health/ready")
	require.Equal(t, []any{map[string]any{"check": "lease", "reason": "lease_lost"}}, body["failing"])
}

func TestOtherMethodsAndPathsAreRefused(t *testing.T) {
	t.Parallel()
	h, _ := logged()
	for path, method := range map[string]string{"/health/ready": http.MethodPost, "/health": http.MethodGet, "/": http.MethodGet} {
		recorder := httptest.NewRecorder()
		h.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		require.GreaterOrEqual(t, recorder.Code, 400, path)
	}
}

// Probes come from several sides while the worker starts and stops.
func TestProbesMayComeAtAnyTime(t *testing.T) {
	t.Parallel()
	h, _ := logged()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				for _, path := range []string{"/health/live", "/health/startup", "/health/ready"} {
					h.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
				}
			}
		})
	}
	all.Go(func() {
		for attempt := range 50 {
			h.Starting(attempt, time.Second)
			h.Launched([]health.Check{check("lease", signal.LeaseLost, nil)})
			h.Stopping(context.Background())
		}
	})
	all.Wait()
}
