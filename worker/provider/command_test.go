package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/provider/contract"
)

const (
	waitLimit = 10 * time.Second
	waitTick  = 5 * time.Millisecond
)

// running is Main in a goroutine.
type running struct {
	url  string
	stop context.CancelFunc
	code chan int
}

func start(t *testing.T, args ...string) running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, args, in, io.Discard)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	var announced struct{ Address, URL string }
	require.NoError(t, json.Unmarshal(line, &announced))
	require.Equal(t, "http://"+announced.Address, announced.URL)
	return running{url: announced.URL, stop: stop, code: code}
}

// ask returns the status of a summary request, 0 without an answer.
func (r running) ask(ctx context.Context, key string) int {
	body, _ := json.Marshal(contract.SummaryRequest{Text: text}) // cannot fail
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+contract.PathSummaries, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", contract.MediaType)
	request.Header.Set(contract.HeaderIdempotencyKey, key)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

func TestMainRunsUntilItIsTold(t *testing.T) {
	t.Parallel()

	t.Run("RequestsInProgressAreFinishedBeforeTheEnd", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "journal")
		server := start(t, "-journal", file, "-delay", "300ms")
		status := make(chan int)
		go func() { status <- server.ask(t.Context(), "k") }()
		require.Eventually(t, func() bool {
			line, err := os.ReadFile(file)
			return err == nil && len(line) > 0
		}, waitLimit, waitTick, "executed, and now delayed")
		server.stop()
		require.Equal(t, http.StatusOK, <-status)
		require.Zero(t, <-server.code)
	})

	t.Run("TheJournalOutlivesTheProcess", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "journal")
		for range 2 {
			server := start(t, "-journal", file)
			require.Equal(t, http.StatusOK, server.ask(t.Context(), "k"))
			server.stop()
			require.Zero(t, <-server.code)
		}
		lines, err := os.Open(file)
		require.NoError(t, err)
		defer func() { _ = lines.Close() }()
		counts, err := CountJournal(lines)
		require.NoError(t, err)
		require.Equal(t, map[string]JournalCount{"k": {Executed: 2}}, counts, "memory is lost, and the file says so")
	})
}

func TestMainRefusesToStart(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })

	for name, c := range map[string]struct {
		args   []string
		code   int
		reason string
	}{
		"AddressInUse":       {[]string{"-address", taken.Addr().String()}, exitUnavailable, "address already in use"},
		"HelpIsNoFault":      {[]string{"-help"}, exitClean, "fail-first"},
		"NegativeFault":      {[]string{"-fail-first", "-1"}, exitUsage, "fail-first is negative"},
		"NoSuchJournal":      {[]string{"-journal", filepath.Join(t.TempDir(), "missing", "file")}, exitConfiguration, "open journal"},
		"StrayArgument":      {[]string{"serve"}, exitUsage, "unexpected argument"},
		"UnknownFlag":        {[]string{"-nonsuch"}, exitUsage, "nonsuch"},
		"ZeroConcurrentSlot": {[]string{"-concurrent", "0"}, exitUsage, "concurrent must be positive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			require.Equal(t, c.code, Main(t.Context(), c.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), c.reason)
			require.Empty(t, stdout.String())
		})
	}
}

func TestCountJournalRefusesWhatTheProviderDidNotWrite(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{`{"key":"a","event":"ex`, `{"key":"a","event":"lost"}`, "text"} {
		_, err := CountJournal(strings.NewReader(journal))
		require.ErrorContains(t, err, "read provider journal")
	}
}
