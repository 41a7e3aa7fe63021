package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/worker/app"
)

// invoices is the guide's service with another Register, for what only a service itself can see.
func invoices(register func(ctx context.Context, w *app.Worker) error) app.Service {
	return app.Service{
		Application: "kesita-invoices", Version: "kesita-invoices-v1", Schema: "invoices", Queues: []string{"invoices-remind"}, Register: register,
	}
}

// inside is a worker in this process.
type inside struct {
	stop           context.CancelFunc
	stdout, stderr *output
	code           chan int
}

func runInside(t testing.TB, p place, service app.Service) inside {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w := inside{stop, &output{}, &output{}, make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		w.code <- app.Main(ctx, service, nil, p.worker(calm), w.stdout, w.stderr)
		close(ended)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

// A failed attempt leaves nothing, and the next one has a fresh executor (H6).
func TestAnAttemptThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()

	t.Run("WhatHealsIsTriedAgainWithAFreshExecutor", func(t *testing.T) {
		t.Parallel()
		p := migrated(t)
		executors, returned, worked := []string{}, make(chan string, 2), make(chan string, 1)
		w := runInside(t, p, invoices(func(_ context.Context, w *app.Worker) error {
			id := w.Runtime.ExecutorID().String()
			executors = append(executors, id)
			w.OnStop(func() { returned <- id })
			if len(executors) == 1 {
				return &pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}
			}
			worked <- id
			return nil
		}))
		second, first := receive(t, worked), receive(t, returned)
		require.Equal(t, "released", p.text(t, `select state from workflow_coordination.executor where executor_id = '`+first+`'`))
		require.NotEqual(t, first, second)
		w.stop()
		require.Equal(t, boot.ExitClean, receive(t, w.code))
		require.Equal(t, second, receive(t, returned))
	})

	t.Run("WhatNobodyKnowsEndsTheProcess", func(t *testing.T) {
		t.Parallel()
		p := migrated(t)
		w := runInside(t, p, invoices(func(context.Context, *app.Worker) error { return errors.New("no printer") }))
		require.Equal(t, boot.ExitInternal, receive(t, w.code))
		require.Equal(t, "kesita-invoices: start: register kesita-invoices: no printer\n", w.stderr.String())
		require.Equal(t, "released", p.text(t, `select state from workflow_coordination.executor`))
	})
}

// A service's own check counts like the runtime's, and whoever stops is unready before anything else (H3).
func TestAServiceAddsToReadiness(t *testing.T) {
	t.Parallel()
	p := migrated(t)
	mended := make(chan struct{})
	address := make(chan string, 1)
	last := make(chan string, 1)
	w := runInside(t, p, invoices(func(_ context.Context, w *app.Worker) error {
		w.AddCheck(health.Check{Name: "ledger", Reason: signal.DatabaseDown, Run: func(context.Context) error {
			select {
			case <-mended:
				return nil
			default:
				return errors.New("ledger is away")
			}
		}})
		w.OnStop(func() { last <- ready(t, <-address) })
		return nil
	}))
	var at string
	require.Eventually(t, func() bool { at = w.address(); return at != "" }, patience, poll)
	require.Eventually(t, func() bool { return strings.Contains(ready(t, at), `"failing":[{"check":"ledger"`) }, patience, poll)
	close(mended)
	require.Eventually(t, func() bool { return ready(t, at) == `{"status":"ready"}` }, patience, poll)
	address <- at
	w.stop()
	require.JSONEq(t, `{"status":"not ready","failing":[{"check":"launch","reason":"not_ready"}]}`, receive(t, last))
	require.Equal(t, boot.ExitClean, receive(t, w.code))
}

// A service without a queue or without workflows is a mistake of its author.
func TestAServiceWithoutWorkIsRefused(t *testing.T) {
	t.Parallel()
	register := func(context.Context, *app.Worker) error { return nil }
	for _, service := range []app.Service{
		{Application: "kesita-none", Version: "kesita-none-v1", Register: register},
		{Application: "kesita-none", Version: "kesita-none-v1", Queues: []string{"a"}},
		{Application: "No Name", Version: "v 1", Queues: []string{"a"}, Register: register},
	} {
		code := app.Main(t.Context(), service, nil, []string{"DATABASE_URL=postgres://localhost/x"}, io.Discard, io.Discard)
		require.Equal(t, boot.ExitConfiguration, code)
	}
	many := slices.Repeat([]string{"a"}, 17)
	var stderr strings.Builder
	code := app.Main(t.Context(), app.Service{Application: "kesita-many", Version: "kesita-many-v1", Queues: many, Register: register}, nil,
		[]string{"DATABASE_URL=postgres://localhost/x"}, io.Discard, &stderr)
	require.Equal(t, boot.ExitConfiguration, code)
	require.Contains(t, stderr.String(), "JOURNAL_CONNECTIONS is too small for the queues of this service; write at least 21")
}

// receive waits for a value, but not for ever.
func receive[V any](t testing.TB, from <-chan V) (value V) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		require.Fail(t, "nothing came")
	}
	return value
}

// ready returns what /health/ready says.
func ready(t testing.TB, address string) string {
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+address+"/health/ready", nil)
	if err != nil {
		return err.Error()
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return strings.TrimSpace(string(body))
}

func (w inside) address() string {
	for text := range strings.Lines(w.stdout.String()) {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil && l.HTTPAddress != "" {
			return l.HTTPAddress
		}
	}
	return ""
}
