package outbound_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/outbound"
)

var errLost = errors.New("lease lost")

// server counts what arrives; /from redirects to /to.
func server(t *testing.T) (url string, hits *atomic.Int64) {
	t.Helper()
	hits = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, hits
}

// client lets the first allowed requests pass and counts how often it was asked.
func client(t *testing.T, allowed int64) (c *http.Client, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	next := &http.Transport{}
	t.Cleanup(next.CloseIdleConnections)
	return &http.Client{Transport: outbound.NewTransport(func(context.Context) error {
		if asked.Add(1) > allowed {
			return errLost
		}
		return nil
	}, next)}, asked
}

func send(t *testing.T, c *http.Client, url string, body io.Reader) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	require.NoError(t, err)
	response, err := c.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// body notes that it was closed.
type body struct {
	io.Reader
	closed atomic.Bool
}

func (b *body) Close() error { b.closed.Store(true); return nil }

// F7: what the lease does not cover is not sent, and its body is given back.
func TestARequestThatIsNotConfirmedIsNotSent(t *testing.T) {
	t.Parallel()
	url, hits := server(t)
	c, asked := client(t, 0)
	b := &body{Reader: strings.NewReader("order")}
	require.ErrorIs(t, send(t, c, url, b), errLost)
	require.EqualValues(t, 1, asked.Load())
	require.Zero(t, hits.Load())
	require.True(t, b.closed.Load())
}

// F7: each request that leaves is confirmed by itself: a second one on the same connection, and each redirect.
func TestEachRequestAndEachRedirectIsConfirmed(t *testing.T) {
	t.Parallel()
	url, hits := server(t)
	c, asked := client(t, 1)
	require.ErrorIs(t, send(t, c, url+"/from", nil), errLost)
	require.EqualValues(t, 2, asked.Load())
	require.EqualValues(t, 1, hits.Load(), "the redirect was not followed")

	c, asked = client(t, 3)
	require.NoError(t, send(t, c, url+"/from", nil))
	require.NoError(t, send(t, c, url, nil))
	require.EqualValues(t, 3, asked.Load())
	require.ErrorIs(t, send(t, c, url, nil), errLost)
}
