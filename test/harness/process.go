package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/test/fixture"
)

// binary is the shop's worker, built once for a test binary.
//
//policy:allow built once a test binary: its life is that of the process, and Main removes it
var binary struct {
	sync.Once
	dir string
	err error
}

// Worker is one process of the shop's worker.
type Worker struct {
	command *exec.Cmd
	output  *output
	ended   chan struct{}
}

// Line is one line of a worker's log.
type Line struct {
	Operation   string `json:"operation"`
	Reason      string `json:"reason"`
	ExecutorID  string `json:"executor_id"`
	WorkflowID  string `json:"workflow_id"`
	HTTPAddress string `json:"http_address"`
	// Text is the whole line.
	Text string `json:"-"`
}

// Environment is what a worker of this database needs, in a tenth of production's timing. Later entries win.
func Environment(d *fixture.Database, more ...string) []string {
	return append([]string{"DATABASE_URL=" + d.WorkerURL, "HTTP_ADDRESS=127.0.0.1:0", "TIMING=demo"}, more...)
}

// Start starts a worker process. It is killed when the test ends, if it still runs.
func Start(t testing.TB, environ []string) *Worker {
	t.Helper()
	w := &Worker{output: &output{}, ended: make(chan struct{})}
	w.command = exec.Command(build(t))
	w.command.Env = environ
	w.command.Stdout, w.command.Stderr = w.output, w.output
	require.NoError(t, w.command.Start())
	go func() {
		_ = w.command.Wait() // the status is in ProcessState
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = w.command.Process.Kill()
		<-w.ended
		if t.Failed() {
			t.Logf("worker %d said:\n%s", w.command.Process.Pid, w.Logs())
		}
	})
	return w
}

// build compiles the worker once.
func build(t testing.TB) string {
	t.Helper()
	binary.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "shop"); binary.err != nil {
			return
		}
		command := exec.Command("go", "build", "-o", binary.dir, "github.com/kesita/platform/test/worker")
		if out, err := command.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("build worker: %w: %s", err, out)
		}
	})
	require.NoError(t, binary.err)
	return filepath.Join(binary.dir, "worker")
}

// AwaitReady waits until the worker calls itself ready and returns its executor's ID.
func (w *Worker) AwaitReady(t testing.TB) (executor string) {
	t.Helper()
	Await(t, "the worker is ready", func() bool {
		w.mustRun(t)
		return w.Ask(t, "ready") == http.StatusOK
	})
	return w.AwaitLine(t, "executor_startup", "started").ExecutorID
}

// Ask returns the status of one health path, 0 when nobody answers.
func (w *Worker) Ask(t testing.TB, path string) int {
	t.Helper()
	address := ""
	for _, line := range w.Lines() {
		if line.HTTPAddress != "" {
			address = line.HTTPAddress
		}
	}
	if address == "" {
		return 0
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/health/"+path, nil)
	require.NoError(t, err)
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// AwaitLine waits for the first log line of an operation with a reason.
func (w *Worker) AwaitLine(t testing.TB, operation, reason string) Line {
	t.Helper()
	var found Line
	Await(t, fmt.Sprintf("the worker logs %s %s", operation, reason), func() bool {
		var ok bool
		found, ok = w.Find(operation, reason)
		return ok
	})
	return found
}

// Find returns the first log line of an operation with a reason.
func (w *Worker) Find(operation, reason string) (Line, bool) {
	for _, line := range w.Lines() {
		if line.Operation == operation && line.Reason == reason {
			return line, true
		}
	}
	return Line{}, false
}

// Lines are the log's lines so far.
func (w *Worker) Lines() []Line {
	var lines []Line
	for text := range strings.Lines(w.Logs()) {
		line := Line{Text: text}
		if json.Unmarshal([]byte(text), &line) == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// Logs is everything that the worker wrote.
func (w *Worker) Logs() string { return w.output.String() }

// PID is the process ID.
func (w *Worker) PID() int { return w.command.Process.Pid }

// Pause freezes the whole process, its watchdog included.
func (w *Worker) Pause(t testing.TB) {
	t.Helper()
	w.Signal(t, syscall.SIGSTOP)
}

// Resume thaws it.
func (w *Worker) Resume(t testing.TB) {
	t.Helper()
	w.Signal(t, syscall.SIGCONT)
}

// Kill ends it at once.
func (w *Worker) Kill(t testing.TB) {
	t.Helper()
	w.Signal(t, syscall.SIGKILL)
	<-w.ended
}

// Signal sends a signal.
func (w *Worker) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	require.NoError(t, w.command.Process.Signal(s))
}

// MustStopCleanly asks the worker to end and fails the test unless it did so with status 0.
func (w *Worker) MustStopCleanly(t testing.TB) {
	t.Helper()
	w.Signal(t, syscall.SIGTERM)
	require.Equal(t, boot.ExitClean, w.ExitCode(t))
}

// ExitCode waits for the end and returns the status; -1 after a signal.
func (w *Worker) ExitCode(t testing.TB) int {
	t.Helper()
	Await(t, "the worker ended", func() bool { return !w.Running() })
	return w.command.ProcessState.ExitCode()
}

// Running reports whether the process is still there.
func (w *Worker) Running() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

func (w *Worker) mustRun(t testing.TB) {
	t.Helper()
	require.True(t, w.Running(), "the worker ended")
}

// output collects what a process writes.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String returns everything so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
