package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/localpg"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/migrate"
)

const (
	patience = 60 * time.Second
	poll     = 20 * time.Millisecond
	// password is planted in every connection string: no output may hold it.
	password = "Pl4nted"
)

// binaries are the programs of the guide, built once for this test binary.
var binaries struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := localpgtest.Main(m, func() error { return goleak.Find() })
	_ = os.RemoveAll(binaries.dir)
	os.Exit(code)
}

// program builds the guide's programs and returns the path of one: worker or api.
func program(t testing.TB, name string) string {
	t.Helper()
	binaries.Do(func() {
		if binaries.dir, binaries.err = os.MkdirTemp("", "app"); binaries.err != nil {
			return
		}
		for target, source := range map[string]string{"worker": "./testdata/invoices", "api": "./testdata/invoices/api"} {
			build := exec.Command("go", "build", "-o", filepath.Join(binaries.dir, target), source)
			build.Stderr = os.Stderr
			if binaries.err = build.Run(); binaries.err != nil {
				return
			}
		}
	})
	require.NoError(t, binaries.err)
	return filepath.Join(binaries.dir, name)
}

// place is a database and the logins of its service.
type place struct {
	server *localpg.Server
	name   string
	admin  string
	logins string // what the names of the logins begin with
}

// empty creates a database and its logins; nothing is migrated.
func empty(t testing.TB, server *localpg.Server) place {
	t.Helper()
	name, admin := localpgtest.Database(t, server)
	p := place{server: server, name: name, admin: admin, logins: name}
	p.bootstrap(t)
	return p
}

func (p place) bootstrap(t testing.TB) {
	t.Helper()
	login := func(kind string) migrate.Login { return migrate.Login{Name: p.login(kind), Password: password} }
	require.NoError(t, migrate.Bootstrap{
		AdminURL: p.admin, Database: p.name, Owner: login("owner"), Worker: login("worker"), API: login("api"), Reader: login("reader"),
	}.Create(t.Context()))
	p.exec(t, `alter database `+p.name+` owner to `+p.login("owner"))
}

func (p place) migrate(t testing.TB) ended {
	t.Helper()
	return start(t, []string{"DATABASE_URL=" + p.url("owner")}, "migrate",
		"--worker-login", p.login("worker"), "--api-login", p.login("api"), "--reader-login", p.login("reader")).wait(t)
}

// original is the one database of the shared server that really was migrated; the tests get copies.
var original struct {
	sync.Mutex
	migrated bool
}

// migrated returns a copy of a database that the worker's own binary migrated.
func migrated(t testing.TB) place {
	t.Helper()
	server := localpgtest.Shared(t)
	template := place{server: server, name: "original", admin: server.AdminURL("original"), logins: "original"}
	original.Lock()
	defer original.Unlock()
	if !original.migrated {
		place{server: server, admin: server.AdminURL("postgres")}.exec(t, `create database original`)
		template.bootstrap(t)
		out := template.migrate(t)
		require.Equal(t, 0, out.code, out.stderr)
		original.migrated = true
	}
	name, admin := localpgtest.Database(t, server)
	p := place{server: server, name: name, admin: admin, logins: template.logins}
	maintenance := place{server: server, admin: server.AdminURL("postgres")}
	maintenance.exec(t, `drop database `+name)
	maintenance.exec(t, `create database `+name+` template original`)
	return p
}

func (p place) login(kind string) string { return p.logins + "_" + kind }

func (p place) url(kind string) string { return p.server.URL(p.login(kind), password, p.name) }

// worker is the environment of a worker of this place.
func (p place) worker(more ...string) []string {
	return append([]string{"DATABASE_URL=" + p.url("worker"), "HTTP_ADDRESS=127.0.0.1:0"}, more...)
}

func (p place) exec(t testing.TB, statement string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // cleanups use it too
	conn, err := pgx.Connect(ctx, p.admin)
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	require.NoError(t, err)
}

// text runs a query that gives one text.
func (p place) text(t testing.TB, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.admin)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var answer string
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&answer))
	return answer
}

// process is one running worker.
type process struct {
	command        *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
}

// ended is what is left of one.
type ended struct {
	code           int
	stdout, stderr string
}

func start(t testing.TB, environ []string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(program(t, "worker"), args...), stdout: &output{}, stderr: &output{}, done: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = environ, p.stdout, p.stderr
	require.NoError(t, p.command.Start())
	go func() {
		_ = p.command.Wait() // the exit status is read from ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.done
		require.NotContains(t, p.stdout.String()+p.stderr.String(), password, "a secret was printed")
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", p.stdout, p.stderr)
		}
	})
	return p
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(s))
}

func (p *process) wait(t testing.TB) ended {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "process still runs", "stdout:\n%s\nstderr:\n%s", p.stdout, p.stderr)
	}
	return ended{p.command.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// line is one event of the log.
type line struct {
	Operation, Reason, Fault string
	HTTPAddress              string `json:"http_address"`
	ExecutorID               string `json:"executor_id"`
	Attempt                  int
	Faults                   []string
}

func (p *process) lines(t testing.TB) []line {
	t.Helper()
	var lines []line
	for text := range strings.Lines(p.stdout.String()) {
		if !strings.HasSuffix(text, "\n") {
			break // still being written
		}
		var l line
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		lines = append(lines, l)
	}
	return lines
}

// await returns the first line of the log that fits, or nothing when the process ends without one.
func (p *process) await(t testing.TB, what string, fits func(line) bool) line {
	t.Helper()
	var found line
	require.Eventually(t, func() bool {
		for _, l := range p.lines(t) {
			if fits(l) {
				found = l
				return true
			}
		}
		return false
	}, patience, poll, what)
	return found
}

// ask returns the status of one of the health paths, 0 when nobody answers.
func (p *process) ask(t testing.TB, path string) int {
	t.Helper()
	address := p.await(t, "address", func(l line) bool { return l.HTTPAddress != "" }).HTTPAddress
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/health/"+path, nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func (p *process) awaitStatus(t testing.TB, path string, status int) {
	t.Helper()
	require.Eventually(t, func() bool { return p.ask(t, path) == status }, patience, poll, "%s %d\n%s\n%s", path, status, p.stdout, p.stderr)
}

// output is a buffer that one goroutine fills and others read.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
