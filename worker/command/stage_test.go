package command_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/command"
	"github.com/kesita/platform/worker/localpg"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/migrate"
	"github.com/kesita/platform/worker/provider"
)

const (
	patience = 60 * time.Second
	tick     = 20 * time.Millisecond
	// password is in every connection string: no output may hold it.
	password = "Pl4nted"
)

func TestMain(m *testing.M) {
	os.Exit(localpgtest.Main(m, func() error { return goleak.Find() }))
}

// answer is what one call of the command line gave.
type answer struct {
	code           int
	stdout, stderr string
}

// call runs the command line.
func call(t testing.TB, environ []string, stdin string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := command.Main(ctx, args, environ, strings.NewReader(stdin), &stdout, &stderr)
	a := answer{code, stdout.String(), stderr.String()}
	require.NotContains(t, a.stdout+a.stderr, password, "a secret was printed")
	return a
}

// ok is call for what must succeed and say nothing on standard error.
func ok(t testing.TB, environ []string, stdin string, args ...string) string {
	t.Helper()
	a := call(t, environ, stdin, args...)
	require.Equal(t, answer{code: 0, stdout: a.stdout}, a)
	return a.stdout
}

// golden compares with a file of testdata after names of one run were replaced. UPDATE_PAGES=1 writes it.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = normal(got)
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// normal replaces what differs from run to run: identifiers by their order, times, ages.
func normal(text string) string {
	seen := map[string]string{}
	text = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = "00000000-0000-0000-0000-" + strings.Repeat("0", 11) + strconv.Itoa(len(seen)+1)
		}
		return seen[id]
	})
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`).ReplaceAllString(text, "2026-01-02T03:04:05Z")
	text = regexp.MustCompile(`"heartbeat_age_ms": \d+`).ReplaceAllString(text, `"heartbeat_age_ms": 1234`)
	text = regexp.MustCompile(`\b\d+s ago`).ReplaceAllString(text, "1s ago")
	text = regexp.MustCompile(`"rank": [0-9.e-]+`).ReplaceAllString(text, `"rank": 0.5`)
	text = regexp.MustCompile(`(/[\w.-]+)+/documents`).ReplaceAllString(text, "/documents")
	return regexp.MustCompile(`\bin \d+s`).ReplaceAllString(text, "in 74s")
}

// place is a database and the logins of its service.
type place struct {
	server      *localpg.Server
	name, admin string
}

// empty creates a database and its logins; nothing is migrated.
func empty(t testing.TB) place {
	t.Helper()
	server := localpgtest.Shared(t)
	name, admin := localpgtest.Database(t, server)
	p := place{server, name, admin}
	login := func(kind string) migrate.Login { return migrate.Login{Name: name + "_" + kind, Password: password} }
	require.NoError(t, migrate.Bootstrap{
		AdminURL: admin, Database: name, Owner: login("owner"), Worker: login("worker"), API: login("api"), Reader: login("reader"),
	}.Create(t.Context()))
	p.exec(t, `alter database `+name+` owner to `+name+`_owner`)
	return p
}

// migrated creates a database and migrates it with the command line.
func migrated(t testing.TB, service string) place {
	t.Helper()
	p := empty(t)
	ok(t, []string{"DATABASE_URL=" + p.url("owner")}, "", p.migrate(service)...)
	return p
}

// migrate are the arguments that migrate this place.
func (p place) migrate(service string, more ...string) []string {
	return append([]string{
		"migrate", "--service", service, "--worker-login", p.name + "_worker", "--api-login", p.name + "_api", "--reader-login", p.name + "_reader",
	}, more...)
}

func (p place) url(kind string) string { return p.server.URL(p.name+"_"+kind, password, p.name) }

// as is the environment of a call with one login.
func (p place) as(kind string) []string { return []string{"DATABASE_URL=" + p.url(kind), "USER=ada"} }

func (p place) exec(t testing.TB, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.admin)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
}

func (p place) count(t testing.TB, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.admin)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// work runs a worker of the service in this process until the test ends.
func (p place) work(t testing.TB, service app.Service, environ ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan int, 1)
	go func() {
		// Half of production's: a verdict of the watchdog would end this process, the tests.
		environ = append(environ, "DATABASE_URL="+p.url("worker"), "HTTP_ADDRESS=127.0.0.1:0", "TIMING=0.5")
		done <- app.Main(ctx, service, nil, environ, io.Discard, os.Stderr)
	}()
	t.Cleanup(func() {
		stop()
		require.Zero(t, <-done, "the worker stopped in an orderly way")
	})
}

// summaries starts the shipped provider, which refuses texts that say REFUSE.
func summaries(t testing.TB) (url string) {
	t.Helper()
	shipped, err := provider.New(provider.Config{Limits: provider.Limits{
		BodyBytes: 1 << 20, Concurrent: 4, Receipts: 100, RetryAfter: time.Second,
	}})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte("REFUSE")) {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		shipped.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
