package product_test

import (
	"bytes"
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

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product/producttest"
)

const (
	patience = 90 * time.Second
	poll     = 20 * time.Millisecond
)

// programs are the real binaries, built once for this test binary.
var programs struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := localpgtest.Main(m)
	_ = os.RemoveAll(programs.dir)
	os.Exit(code)
}

func program(t *testing.T, name string) string {
	t.Helper()
	programs.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "product"); programs.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", programs.dir, "../../cmd/product", "../../cmd/provider")
		build.Stderr = os.Stderr
		programs.err = build.Run()
	})
	require.NoError(t, programs.err)
	return filepath.Join(programs.dir, name)
}

// process is one running program.
type process struct {
	command        *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
}

func start(t *testing.T, name string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(program(t, name), args...), stdout: &output{}, stderr: &output{}, done: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = environ, p.stdout, p.stderr
	require.NoError(t, p.command.Start())
	go func() {
		_ = p.command.Wait() // the exit status is read from ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%s stdout:\n%s\nstderr:\n%s", name, p.stdout, p.stderr)
		}
	})
	return p
}

// provider starts the shipped provider and returns its URL.
func provider(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, "provider", []string{}, args...)
	var announced struct{ URL string }
	require.Eventually(t, func() bool { return json.Unmarshal([]byte(p.stdout.String()), &announced) == nil }, patience, poll)
	return announced.URL
}

// worker starts a product worker in a tenth of production's timing.
func worker(t *testing.T, s producttest.Service, more ...string) *process {
	t.Helper()
	return start(t, "product", append([]string{"DATABASE_URL=" + s.WorkerURL, "HTTP_ADDRESS=127.0.0.1:0", "TIMING=demo"}, more...))
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGKILL))
	<-p.done
}

func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "the process still runs")
	}
	return p.command.ProcessState.ExitCode()
}

// logged returns the value of the first log line's field that is not empty.
func (p *process) logged(field string) string {
	for line := range strings.Lines(p.stdout.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) != nil {
			continue // still being written
		}
		if value, ok := fields[field].(string); ok && value != "" {
			return value
		}
	}
	return ""
}

// ready asks /health/ready and returns status and body; 0 while nobody listens.
func (p *process) ready(t *testing.T) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.logged("http_address")+"/health/ready", http.NoBody)
	if err != nil {
		return 0, ""
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	_, _ = body.ReadFrom(response.Body)
	return response.StatusCode, body.String()
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
