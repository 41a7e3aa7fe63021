package localpg

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	silent := func(string) {}

	t.Run("UnpacksTheToolsOnceThoughTheLibrarysOwnServerCannotStart", func(t *testing.T) {
		t.Parallel()
		var downloads atomic.Int32
		repository := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, ".jar") {
				http.NotFound(w, r)
				return
			}
			downloads.Add(1)
			_, _ = w.Write(archive(t))
		})
		cache := t.TempDir()
		for range 2 {
			folder, err := fetch(t.Context(), cache, repository, silent)
			require.NoError(t, err)
			found, err := inspect(t.Context(), folder, nil)
			require.NoError(t, err)
			require.Equal(t, 17, found.major)
		}
		require.EqualValues(t, 1, downloads.Load())
	})

	t.Run("SaysWhyItDidNotWork", func(t *testing.T) {
		t.Parallel()
		_, err := fetch(t.Context(), t.TempDir(), serve(t, http.NotFound), silent)
		require.ErrorContains(t, err, "fetch PostgreSQL 17.5.0: no version found matching 17.5.0")
	})

	t.Run("ReturnsWhenItsContextEndsThoughTheDownloadHangs", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		repository := serve(t, func(w http.ResponseWriter, r *http.Request) {
			cancel()
			<-release
			http.NotFound(w, r)
		})
		_, err := fetch(ctx, t.TempDir(), repository, silent)
		close(release)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() // the library's client
	})
	return server.URL
}

// archive is a jar like the library's: a zip with one .txz, here of scripts.
func archive(t *testing.T) []byte {
	t.Helper()
	tools, err := os.ReadFile("testdata/tools.txz")
	require.NoError(t, err)
	var jar bytes.Buffer
	writer := zip.NewWriter(&jar)
	entry, err := writer.Create("postgres-linux-x86_64.txz")
	require.NoError(t, err)
	_, err = entry.Write(tools)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return jar.Bytes()
}
