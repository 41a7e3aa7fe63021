package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/provider/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const text = "The harbour closes in a storm. Ships wait outside the harbour. The storm ends at night."

type bundle struct {
	server  *Server
	journal *bytes.Buffer
}

func setup(t *testing.T, change func(*Config)) bundle {
	t.Helper()
	var journal bytes.Buffer
	config := Config{
		Limits:  Limits{BodyBytes: 1 << 10, Concurrent: 4, Receipts: 8, RetryAfter: 1500 * time.Millisecond},
		Journal: &journal,
	}
	if change != nil {
		change(&config)
	}
	server, err := New(config)
	require.NoError(t, err)
	return bundle{server: server, journal: &journal}
}

// ask sends a summary request without a network.
func (b bundle) ask(key string, request any) *httptest.ResponseRecorder {
	body, _ := json.Marshal(request)
	return b.post(key, contract.MediaType, string(body))
}

func (b bundle) post(key, mediaType, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, contract.PathSummaries, strings.NewReader(body))
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set(contract.HeaderIdempotencyKey, key)
	recorder := httptest.NewRecorder()
	b.server.ServeHTTP(recorder, request)
	return recorder
}

func (b bundle) get(path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	b.server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return recorder
}

func decode[T any](t *testing.T, recorder *httptest.ResponseRecorder) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &value), recorder.Body.String())
	return value
}

func requireRefused(t *testing.T, recorder *httptest.ResponseRecorder, status int, code contract.Code) {
	t.Helper()
	require.Equal(t, status, recorder.Code, recorder.Body.String())
	require.Equal(t, code, decode[contract.Refusal](t, recorder).Code)
}

// The receipts are what F7 leans on.
func TestReceipts(t *testing.T) {
	t.Parallel()
	request := contract.SummaryRequest{Text: text, MaxSentences: 1}

	t.Run("AnUnknownReceiptIs404", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, setup(t, nil).get(contract.PathReceipts+"k"), http.StatusNotFound, contract.CodeUnknown)
	})

	t.Run("ConcurrentRequestsOfOneKeyExecuteOnce", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := &gatedWriter{entered: make(chan struct{}), open: make(chan struct{})}
			b := setup(t, func(c *Config) { c.Journal = gate })
			var group sync.WaitGroup
			answers := make([]contract.SummaryResponse, 3)
			for i := range answers {
				group.Go(func() { answers[i] = decode[contract.SummaryResponse](t, b.ask("k", request)) })
			}
			<-gate.entered
			synctest.Wait() // the others wait for the one that executes
			close(gate.open)
			group.Wait()
			replays := 0
			for _, answer := range answers {
				require.Equal(t, answers[0].ReceiptID, answer.ReceiptID)
				if answer.Replayed {
					replays++
				}
			}
			require.Equal(t, 2, replays)
			require.EqualValues(t, 1, b.server.stats.executed.Load())
		})
	})

	t.Run("JournalAndStatsCountExecutionsAndReplays", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		for _, key := range []string{"a", "a", "b", "a"} {
			require.Equal(t, http.StatusOK, b.ask(key, request).Code)
		}
		counts, err := CountJournal(bytes.NewReader(b.journal.Bytes()))
		require.NoError(t, err)
		require.Equal(t, map[string]JournalCount{"a": {Executed: 1, Replayed: 2}, "b": {Executed: 1}}, counts)
		require.NotContains(t, b.journal.String(), "harbour")
		stats := decode[contract.StatsResponse](t, b.get(contract.PathStats))
		require.Equal(t, contract.StatsResponse{Requests: 4, Executed: 2, Replayed: 2}, stats)
		found := decode[contract.ReceiptResponse](t, b.get(contract.PathReceipts+"a"))
		require.Equal(t, 1, found.Executions)
		require.Equal(t, 2, found.Replays)
	})

	t.Run("SameKeyAndAnotherBodyIs409", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		require.Equal(t, http.StatusOK, b.ask("k", request).Code)
		requireRefused(t, b.ask("k", contract.SummaryRequest{Text: text, MaxSentences: 2}), http.StatusConflict, contract.CodeKeyReused)
		requireRefused(t, b.ask("k", contract.SummaryRequest{Text: text + " More.", MaxSentences: 1}), http.StatusConflict, contract.CodeKeyReused)
	})

	t.Run("SameKeyAndBodyIsTheStoredReceipt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		first := decode[contract.SummaryResponse](t, b.ask("k", request))
		require.False(t, first.Replayed)
		require.NotEmpty(t, first.Summary)
		again := decode[contract.SummaryResponse](t, b.ask("k", request))
		require.True(t, again.Replayed)
		again.Replayed = false
		require.Equal(t, first, again)
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	request := contract.SummaryRequest{Text: text}

	t.Run("BadRequestsAreNamed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		requireRefused(t, b.ask("", request), http.StatusBadRequest, contract.CodeKeyMissing)
		requireRefused(t, b.ask(strings.Repeat("k", contract.MaxKeyBytes+1), request), http.StatusBadRequest, contract.CodeKeyMalformed)
		requireRefused(t, b.ask("a b", request), http.StatusBadRequest, contract.CodeKeyMalformed)
		requireRefused(t, b.post("k", "text/plain", "{}"), http.StatusUnsupportedMediaType, contract.CodeMediaType)
		requireRefused(t, b.post("k", contract.MediaType, "{"), http.StatusBadRequest, contract.CodeBodyInvalid)
		requireRefused(t, b.post("k", contract.MediaType, `{"text":"a"} {}`), http.StatusBadRequest, contract.CodeBodyInvalid)
		requireRefused(t, b.ask("k", contract.SummaryRequest{Text: text, MaxSentences: -1}), http.StatusBadRequest, contract.CodeSentences)
		requireRefused(t, b.ask("k", contract.SummaryRequest{Text: " \n"}), http.StatusBadRequest, contract.CodeTextEmpty)
		requireRefused(t, b.ask("k", contract.SummaryRequest{Text: strings.Repeat("a", 1<<10)}), http.StatusRequestEntityTooLarge, contract.CodeBodyTooLarge)
		require.Empty(t, b.journal.String(), "a refused request has no effect")
		require.Equal(t, http.StatusOK, b.ask("k", request).Code, "and does not use up its key")
	})

	t.Run("LoadAboveTheLimitIs429WithRetryAfter", func(t *testing.T) {
		t.Parallel()
		gate := &gatedWriter{entered: make(chan struct{}), open: make(chan struct{})}
		b := setup(t, func(c *Config) { c.Journal, c.Limits.Concurrent = gate, 1 })
		done := make(chan int)
		go func() { done <- b.ask("a", request).Code }()
		<-gate.entered
		refused := b.ask("b", request)
		requireRefused(t, refused, http.StatusTooManyRequests, contract.CodeBusy)
		require.Equal(t, "2", refused.Header().Get(contract.HeaderRetryAfter), "whole seconds, rounded up")
		close(gate.open)
		require.Equal(t, http.StatusOK, <-done)
		require.Equal(t, http.StatusOK, b.ask("b", request).Code)
	})

	t.Run("AFullStoreRefusesNewKeysAndStillReplaysOldOnes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(c *Config) { c.Limits.Receipts = 1 })
		require.Equal(t, http.StatusOK, b.ask("a", request).Code)
		requireRefused(t, b.ask("b", request), http.StatusServiceUnavailable, contract.CodeUnavailable)
		require.Equal(t, http.StatusOK, b.ask("a", request).Code)
	})

	t.Run("AJournalThatCannotBeWrittenIs500AndLeavesTheKeyUnused", func(t *testing.T) {
		t.Parallel()
		broken := &brokenWriter{left: 1}
		b := setup(t, func(c *Config) { c.Journal = broken })
		requireRefused(t, b.ask("a", request), http.StatusInternalServerError, contract.CodeInternal)
		require.False(t, decode[contract.SummaryResponse](t, b.ask("a", request)).Replayed)
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	request := contract.SummaryRequest{Text: text}

	t.Run("DelayPassesAfterTheExecution", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, func(c *Config) { c.Faults.Delay = time.Hour })
			begin := time.Now()
			done := make(chan struct{})
			go func() { defer close(done); b.ask("k", request) }()
			synctest.Wait()
			require.EqualValues(t, 1, b.server.stats.executed.Load())
			<-done
			require.Equal(t, time.Hour, time.Since(begin))
		})
	})

	t.Run("DropFirstExecutesAndCutsTheConnection", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(c *Config) { c.Faults.DropFirst = 1 })
		require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { b.ask("k", request) })
		require.True(t, decode[contract.SummaryResponse](t, b.ask("k", request)).Replayed)
	})

	t.Run("FailFirstExecutesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(c *Config) { c.Faults.FailFirst = 2 })
		for range 2 {
			requireRefused(t, b.ask("k", request), http.StatusServiceUnavailable, contract.CodeUnavailable)
		}
		require.Empty(t, b.journal.String())
		require.False(t, decode[contract.SummaryResponse](t, b.ask("k", request)).Replayed)
	})

	t.Run("NonsenseKeepsNothingOfTheContract", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(c *Config) { c.Faults.Nonsense = true })
		answer := b.ask("k", request)
		require.Equal(t, http.StatusOK, answer.Code)
		require.False(t, json.Valid(answer.Body.Bytes()))
	})

	t.Run("NegativeSettingsAreAllNamed", func(t *testing.T) {
		t.Parallel()
		_, err := New(Config{Faults: Faults{Delay: -1, FailFirst: -1, DropFirst: -1}})
		for _, name := range []string{"body-bytes", "concurrent", "receipts", "retry-after", "delay", "fail-first", "drop-first"} {
			require.ErrorContains(t, err, name)
		}
	})
}

// gatedWriter holds its first write until open is closed.
type gatedWriter struct {
	once          sync.Once
	entered, open chan struct{}
}

func (w *gatedWriter) Write(line []byte) (int, error) {
	w.once.Do(func() { close(w.entered); <-w.open })
	return len(line), nil
}

// brokenWriter fails its first left writes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(line []byte) (int, error) {
	if w.left--; w.left >= 0 {
		return 0, errors.New("disk full")
	}
	return len(line), nil
}

var _ io.Writer = (*brokenWriter)(nil)
