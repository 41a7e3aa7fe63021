package summarise_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/product/summarise"
	"github.com/kesita/platform/worker/provider"
	"github.com/kesita/platform/worker/provider/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const text = "The harbour closes in a storm. Ships wait outside the harbour. The storm ends at night."

const good = `{"receipt_id":"r-1","summary":"Short.","sentences":1,"model":"m","replayed":false}`

// settings are short: no test waits for a production time.
func settings(url string) summarise.Settings {
	return summarise.Settings{
		BaseURL: url, AttemptTimeout: 5 * time.Second, Attempts: 3,
		FirstPause: time.Millisecond, LongestPause: 5 * time.Millisecond, Concurrency: 4, ResponseBytes: 1 << 10,
	}
}

func call(ctx context.Context, client *summarise.Client) (receipt summarise.Receipt, sends int, err error) {
	receipt, err = client.Summarise(ctx, summarise.Request{
		IdempotencyKey: "k", Text: text, MaxSentences: 1,
		BeforeSend: func(context.Context) error { sends++; return nil },
	})
	return receipt, sends, err
}

// shipped starts the provider of this repository with faults.
func shipped(t *testing.T, faults provider.Faults) (url string, journal *syncBuffer) {
	t.Helper()
	out := new(syncBuffer)
	server, err := provider.New(provider.Config{
		Limits:  provider.Limits{BodyBytes: 1 << 20, Concurrent: 4, Receipts: 10, RetryAfter: time.Second},
		Faults:  faults,
		Journal: out,
	})
	require.NoError(t, err)
	return serve(t, server), out
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func transport(t *testing.T) *http.Client {
	t.Helper()
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

// The faults of the shipped provider, as the product sees them.
func TestShippedProvider(t *testing.T) {
	t.Parallel()

	t.Run("ACutConnectionIsAskedAgainWithTheSameKeyAndExecutedOnce", func(t *testing.T) {
		t.Parallel()
		url, journal := shipped(t, provider.Faults{DropFirst: 1})
		receipt, sends, err := call(t.Context(), summarise.New(transport(t), settings(url)))
		require.NoError(t, err)
		require.True(t, receipt.Replayed)
		require.Equal(t, 2, sends)
		counts, err := provider.CountJournal(strings.NewReader(journal.Text()))
		require.NoError(t, err)
		require.Equal(t, map[string]provider.JournalCount{"k": {Executed: 1, Replayed: 1}}, counts)
	})

	t.Run("ADelayBeyondEveryAttemptIsAnUnknownOutcomeThoughItWasDone", func(t *testing.T) {
		t.Parallel()
		url, journal := shipped(t, provider.Faults{Delay: time.Hour})
		s := settings(url)
		s.AttemptTimeout = 100 * time.Millisecond
		_, sends, err := call(t.Context(), summarise.New(transport(t), s))
		requireError(t, err, summarise.ErrOutcomeUnknown, summarise.TimedOut, true)
		require.Equal(t, 3, sends)
		require.Contains(t, journal.Text(), "executed")
	})

	t.Run("FirstFailuresAreOutlasted", func(t *testing.T) {
		t.Parallel()
		url, _ := shipped(t, provider.Faults{FailFirst: 2})
		s := settings(url)
		s.LongestPause = 1100 * time.Millisecond // the provider asks for a second
		receipt, sends, err := call(t.Context(), summarise.New(transport(t), s))
		require.NoError(t, err)
		require.Equal(t, 3, sends)
		require.NotEmpty(t, receipt.Summary)
	})

	t.Run("NonsenseEndsTheCallAtOnce", func(t *testing.T) {
		t.Parallel()
		url, _ := shipped(t, provider.Faults{Nonsense: true})
		_, sends, err := call(t.Context(), summarise.New(transport(t), settings(url)))
		requireError(t, err, summarise.ErrProviderNonsense, summarise.WrongMediaType, true)
		require.Equal(t, 1, sends)
	})
}

func TestClassification(t *testing.T) {
	t.Parallel()
	type answer struct {
		status int
		media  string
		body   string
	}
	for name, c := range map[string]struct {
		answer answer
		kind   error
		reason summarise.Reason
		acted  bool
		sends  int
	}{
		"AcceptedIsNotTheContract":    {answer{202, "application/json", good}, summarise.ErrProviderNonsense, summarise.UnexpectedStatus, true, 1},
		"BadGatewayMayHaveActed":      {answer{502, "text/html", ""}, summarise.ErrProviderUnavailable, summarise.ServerError, true, 3},
		"BadRequest":                  {answer{400, "application/json", `{"code":"text_empty"}`}, summarise.ErrProviderRefused, summarise.BadRequest, false, 1},
		"BusyDidNothing":              {answer{429, "application/json", `{"code":"busy"}`}, summarise.ErrProviderUnavailable, summarise.Busy, false, 3},
		"EmptySummary":                {answer{200, "application/json", strings.Replace(good, "Short.", " ", 1)}, summarise.ErrProviderNonsense, summarise.Incomplete, true, 1},
		"Forbidden":                   {answer{403, "", ""}, summarise.ErrProviderRefused, summarise.Unauthorised, false, 1},
		"HTMLWithStatusOK":            {answer{200, "text/html", good}, summarise.ErrProviderNonsense, summarise.WrongMediaType, true, 1},
		"KeyReused":                   {answer{409, "", ""}, summarise.ErrProviderRefused, summarise.KeyReused, false, 1},
		"NoReceiptID":                 {answer{200, "application/json", strings.Replace(good, "r-1", "", 1)}, summarise.ErrProviderNonsense, summarise.Incomplete, true, 1},
		"NotFound":                    {answer{404, "", ""}, summarise.ErrProviderRefused, summarise.NotFound, false, 1},
		"NotJSON":                     {answer{200, "application/json", "<html>"}, summarise.ErrProviderNonsense, summarise.Unreadable, true, 1},
		"NulInTheSummary":             {answer{200, "application/json", strings.Replace(good, "Short.", `a\u0000b`, 1)}, summarise.ErrProviderNonsense, summarise.Incomplete, true, 1},
		"RedirectsAreNotFollowed":     {answer{307, "", ""}, summarise.ErrProviderRefused, summarise.UnexpectedStatus, false, 1},
		"TooLarge":                    {answer{413, "", ""}, summarise.ErrProviderRefused, summarise.TooLarge, false, 1},
		"TooLongAnswer":               {answer{200, "application/json", good + strings.Repeat(" ", 1<<10)}, summarise.ErrProviderNonsense, summarise.TooLong, true, 1},
		"TwoValuesAreNotTheContract":  {answer{200, "application/json", good + good}, summarise.ErrProviderNonsense, summarise.Unreadable, true, 1},
		"UnavailableWithoutRetryHint": {answer{503, "", ""}, summarise.ErrProviderUnavailable, summarise.ServerError, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != contract.PathSummaries {
					t.Errorf("the text was sent to %s", r.URL.Path)
				}
				w.Header().Set("Content-Type", c.answer.media)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.answer.status)
				_, _ = io.WriteString(w, c.answer.body)
			}))
			_, sends, err := call(t.Context(), summarise.New(transport(t), settings(url)))
			requireError(t, err, c.kind, c.reason, c.acted)
			require.Equal(t, c.sends, sends)
		})
	}

	t.Run("AnAnswerCutInTheMiddleIsUnknown", func(t *testing.T) {
		t.Parallel()
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contract.MediaType)
			w.Header().Set("Content-Length", strconv.Itoa(len(good)))
			_, _ = io.WriteString(w, good[:10])
		}))
		_, sends, err := call(t.Context(), summarise.New(transport(t), settings(url)))
		requireError(t, err, summarise.ErrOutcomeUnknown, summarise.ConnectionLost, true)
		require.Equal(t, 3, sends)
	})

	t.Run("NobodyListensAndNothingWasDone", func(t *testing.T) {
		t.Parallel()
		_, sends, err := call(t.Context(), summarise.New(transport(t), settings(deadAddress(t))))
		requireError(t, err, summarise.ErrProviderUnavailable, summarise.Unreachable, false)
		require.Equal(t, 3, sends)
	})
}

// Neither a refusal nor silence after a lost answer proves that nothing was done (F7).
func TestALostAnswerStaysUnknownUntilAnAttemptSucceeds(t *testing.T) {
	t.Parallel()
	lost := func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	status := func(code int) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return respond(code, ""), nil }
	}
	refused := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}

	for name, then := range map[string]func(*http.Request) (*http.Response, error){
		"Busy": status(429), "Conflict": status(409), "NotReached": refused, "ServerError": status(500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := summarise.New(script(lost, then), settings("http://provider.test"))
			_, _, err := call(t.Context(), client)
			var failed *summarise.Error
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, summarise.ErrOutcomeUnknown)
			require.True(t, failed.MayHaveActed)
		})
	}

	t.Run("Success", func(t *testing.T) {
		t.Parallel()
		found := func(*http.Request) (*http.Response, error) { return respond(200, good), nil }
		receipt, sends, err := call(t.Context(), summarise.New(script(lost, status(500), found), settings("http://provider.test")))
		require.NoError(t, err)
		require.Equal(t, "r-1", receipt.ID)
		require.Equal(t, 3, sends)
	})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	busy := func(hint string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			response := respond(429, "")
			response.Header.Set(contract.HeaderRetryAfter, hint)
			return response, nil
		}
	}
	slow := summarise.Settings{
		BaseURL: "http://provider.test", AttemptTimeout: time.Minute, Attempts: 4,
		FirstPause: time.Second, LongestPause: 20 * time.Second, Concurrency: 1, ResponseBytes: 1 << 10,
	}
	took := func(t *testing.T, s summarise.Settings, answers ...func(*http.Request) (*http.Response, error)) (time.Duration, int, error) {
		t.Helper()
		begin := time.Now()
		_, sends, err := call(t.Context(), summarise.New(script(answers...), s))
		return time.Since(begin), sends, err
	}

	t.Run("ALongerHintThanWeWaitEndsTheCall", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			elapsed, sends, err := took(t, slow, busy("21"))
			requireError(t, err, summarise.ErrProviderUnavailable, summarise.Busy, false)
			require.Equal(t, 1, sends)
			require.Zero(t, elapsed)
		})
	})

	t.Run("AMalformedHintIsIgnoredAndPausesDouble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			elapsed, sends, err := took(t, slow, busy("soon"), busy("-7"), busy(""), busy("1.5"))
			require.ErrorIs(t, err, summarise.ErrProviderUnavailable)
			require.Equal(t, 4, sends)
			require.GreaterOrEqual(t, elapsed, 3500*time.Millisecond) // (1+2+4) s less half
			require.LessOrEqual(t, elapsed, 10500*time.Millisecond)   // and more half
			require.Less(t, elapsed, slow.Longest(), "P5: the bound holds")
		})
	})

	t.Run("DatesAndSecondsAreObeyed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			date := time.Now().Add(14 * time.Second).UTC().Format(http.TimeFormat)
			found := func(*http.Request) (*http.Response, error) { return respond(200, good), nil }
			elapsed, _, err := took(t, slow, busy(date), busy("6"), found)
			require.NoError(t, err)
			require.Equal(t, 20*time.Second, elapsed)
		})
	})

	t.Run("TheEndOfTheContextEndsThePauseAndIsReturned", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			stop := errors.New("budget is used up")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, stop)
			defer cancel()
			_, sends, err := call(ctx, summarise.New(script(busy("15")), slow))
			require.ErrorIs(t, err, stop)
			require.Equal(t, 1, sends)
		})
	})
}

func TestBeforeSend(t *testing.T) {
	t.Parallel()
	gone := errors.New("lease is gone")
	calls := 0
	client := summarise.New(script(func(*http.Request) (*http.Response, error) { return respond(500, ""), nil }), settings("http://provider.test"))
	_, err := client.Summarise(t.Context(), summarise.Request{IdempotencyKey: "k", Text: text, BeforeSend: func(context.Context) error {
		if calls++; calls == 2 {
			return gone
		}
		return nil
	}})
	require.ErrorIs(t, err, gone, "F7: it runs before every attempt, and nothing is sent after its error")
}

// The transport's own lease check must end the step, not look like a provider that is down (F7).
func TestAnErrorOfThePlatformPassesThrough(t *testing.T) {
	t.Parallel()
	refused := &pgconn.PgError{Code: "KF001"}
	client := summarise.New(script(func(*http.Request) (*http.Response, error) { return nil, refused }), settings("http://provider.test"))
	_, sends, err := call(t.Context(), client)
	require.ErrorIs(t, err, refused)
	require.Equal(t, fault.Fenced, fault.Of(err))
	require.Equal(t, 1, sends)
}

// An outage of the provider must not look like one of our own database.
func TestErrorsCarryNothingOfTheNetworkOrTheText(t *testing.T) {
	t.Parallel()
	s := settings(deadAddress(t))
	s.Attempts = 1
	_, _, err := call(t.Context(), summarise.New(transport(t), s))
	require.Error(t, err)
	require.False(t, fault.Infrastructure(err))
	require.NotContains(t, err.Error(), "127.0.0.1")
	require.NotContains(t, err.Error(), "harbour")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	fit := settings("https://provider.test/base")
	require.NoError(t, fit.Validate(time.Minute))
	require.ErrorContains(t, fit.Validate(fit.Longest()), "step budget", "P5")
	for _, address := range []string{"", "provider:80", "ftp://provider", "http://", "http://a?b=c", "http://a#b", "http://[::1"} {
		broken := settings(address)
		require.ErrorContains(t, broken.Validate(time.Minute), "provider url", address)
	}
	err := summarise.Settings{}.Validate(time.Minute)
	for _, word := range []string{"url", "timeout", "attempts", "concurrency", "pauses", "response bytes"} {
		require.ErrorContains(t, err, word, "all faults in one error")
	}
}

func requireError(t *testing.T, err, kind error, reason summarise.Reason, acted bool) {
	t.Helper()
	require.ErrorIs(t, err, kind)
	var failed *summarise.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, reason, failed.Reason)
	require.Equal(t, acted, failed.MayHaveActed)
}

// script answers the attempts of one call in order; the last answer repeats.
func script(answers ...func(*http.Request) (*http.Response, error)) *http.Client {
	next := 0
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		answer := answers[min(next, len(answers)-1)]
		next++
		return answer(r)
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contract.MediaType}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// deadAddress is a port that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return "http://" + listener.Addr().String()
}

type syncBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *syncBuffer) Text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}
