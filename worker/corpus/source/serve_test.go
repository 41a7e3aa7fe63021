package source_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
)

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
