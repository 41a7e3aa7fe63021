package summarise_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/product/summarise"
	"github.com/kesita/platform/worker/provider/contract"
)

// However many calls there are, the provider sees no more at once than it was configured to take; all are served (P5).
func TestTheProviderNeverSeesMoreRequestsAtOnceThanConfigured(t *testing.T) {
	t.Parallel()
	const limit, callers = 2, 6
	var mu sync.Mutex // guards open and most
	var open, most int
	entered, free := make(chan struct{}, callers), make(chan struct{})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count := func(change int) {
			mu.Lock()
			defer mu.Unlock()
			open += change
			most = max(most, open)
		}
		count(1)
		defer count(-1)
		entered <- struct{}{}
		<-free
		w.Header().Set("Content-Type", contract.MediaType)
		_, _ = io.WriteString(w, good)
	}))
	s := settings(url)
	s.Concurrency = limit
	client := summarise.New(transport(t), s)
	done := make(chan error, callers)
	for range callers {
		go func() {
			_, _, err := call(t.Context(), client)
			done <- err
		}()
	}
	for range limit {
		<-entered
	}

	// A call that has no turn by the end of its step ends with it, and notes nothing as sent.
	stepOver := errors.New("step is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stepOver)
	_, sends, err := call(ctx, client)
	require.ErrorIs(t, err, stepOver)
	require.Zero(t, sends)

	for range callers {
		free <- struct{}{}
		require.NoError(t, <-done)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, limit, most)
}
