package source_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/source"
)

func TestWeb(t *testing.T) {
	t.Parallel()

	t.Run("APageIsOneDocumentWithItsMediaType", func(t *testing.T) {
		t.Parallel()
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=latin1")
			_, _ = io.WriteString(w, "<p>hi")
		})
		opener := open(t, source.Config{HTTP: server.Client()})
		items, err := opener.List(t.Context(), server.URL+"/a/page.html?x=1#part")
		require.NoError(t, err)
		require.Equal(t, []source.Item{{URI: server.URL + "/a/page.html?x=1"}}, items)
		stream, err := opener.Open(t.Context(), items[0].URI)
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.Close()) }()
		require.Equal(t, "page.html", stream.Name)
		require.Equal(t, "text/html; charset=latin1", stream.MediaType)
		text, err := io.ReadAll(stream)
		require.NoError(t, err)
		require.Equal(t, "<p>hi", string(text))
	})

	t.Run("EachStatusHasOneMeaning", func(t *testing.T) {
		t.Parallel()
		for status, want := range map[int]refusal.Code{
			204: refusal.Unreadable, 401: refusal.Unreadable, 403: refusal.Unreadable, 404: refusal.Missing, 410: refusal.Missing, 451: refusal.Unreadable,
			408: refusal.Unavailable, 425: refusal.Unavailable, 429: refusal.Unavailable, 500: refusal.Unavailable, 503: refusal.Unavailable,
		} {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			_, err := open(t, source.Config{HTTP: server.Client()}).Open(t.Context(), server.URL)
			require.ErrorIs(t, err, want, status)
			require.Equal(t, want == refusal.Unavailable, refusal.Heals(err), status)
		}
	})

	t.Run("AnEndlessAnswerStopsAtTheLimitAndALongOneIsNotBegun", func(t *testing.T) {
		t.Parallel()
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/told" {
				w.Header().Set("Content-Length", "1025")
				return
			}
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 512)); err != nil {
					return
				}
			}
		})
		opener := open(t, source.Config{HTTP: server.Client(), Limit: 1024})
		_, err := opener.Open(t.Context(), server.URL+"/told")
		require.EqualError(t, err, "document too large: 1.0 KiB > 1 KiB")
		stream, err := opener.Open(t.Context(), server.URL)
		require.NoError(t, err)
		text, err := io.ReadAll(stream)
		require.EqualError(t, err, "document too large: more than 1 KiB")
		require.Len(t, text, 1024)
		require.NoError(t, stream.Close())
	})

	// An error of the network that keeps its type could be taken for one of the platform's own.
	t.Run("ADisturbanceHealsAndItsChainEndsWithTheReason", func(t *testing.T) {
		t.Parallel()
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		})
		opener := open(t, source.Config{HTTP: server.Client()})
		stream, err := opener.Open(t.Context(), server.URL)
		require.NoError(t, err)
		_, err = io.ReadAll(stream)
		require.NoError(t, stream.Close())
		require.ErrorIs(t, err, refusal.Unavailable)
		require.Equal(t, fault.Unknown, fault.Of(err))

		server.Close()
		_, err = opener.Open(t.Context(), server.URL)
		require.ErrorIs(t, err, refusal.Unavailable)
		require.Equal(t, fault.Unknown, fault.Of(err))
		var network net.Error
		require.NotErrorAs(t, err, &network)
	})

	t.Run("ACertificateThatNobodyTrustsDoesNotHeal", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = quiet()
		server.StartTLS()
		t.Cleanup(server.Close)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		_, err := open(t, source.Config{HTTP: client}).Open(t.Context(), server.URL)
		require.ErrorIs(t, err, refusal.Unreadable)
		require.ErrorContains(t, err, "certificate")
	})
}
