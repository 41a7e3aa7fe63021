// Package demo_test drives `kesita demo --keep` as a user does: it runs the commands that the demo prints, as they
// stand. It knows the command line and nothing behind it.
package demo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/command"
)

const (
	patience = 4 * time.Minute
	poll     = 50 * time.Millisecond
)

// TestMain makes this test binary the kesita program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(command.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// recorder is what a process wrote so far.
type recorder struct {
	mu   sync.Mutex
	text []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	return len(p), nil
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// keeper is a demo that stays up.
type keeper struct {
	process   *exec.Cmd
	out       recorder
	temporary string
	// ended gets the outcome of the process.
	ended chan error
}

func start(t *testing.T) *keeper {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	k := &keeper{ended: make(chan error, 1)}
	// Not t.TempDir: the account that runs PostgreSQL for root must reach it.
	k.temporary, err = os.MkdirTemp("", "keep-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(k.temporary, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(k.temporary) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	k.process = exec.CommandContext(ctx, self, "demo", "--keep")
	k.process.Env = append(os.Environ(), "TMPDIR="+k.temporary)
	k.process.Stdout, k.process.Stderr = &k.out, &k.out
	require.NoError(t, k.process.Start())
	go func() { k.ended <- k.process.Wait() }()
	return k
}

func (k *keeper) await(t *testing.T, pattern string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool {
		return expression.MatchString(k.out.String()) || len(k.ended) > 0
	}, patience, poll, "%s in\n%s", pattern, &k.out)
	require.Regexp(t, expression, k.out.String())
}

// command is what the demo prints behind a label.
func (k *keeper) command(t *testing.T, label string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^  ` + label + ` {2,}(.+)$`).FindStringSubmatch(k.out.String())
	require.NotNil(t, match, "%s in\n%s", label, &k.out)
	return match[1]
}

// shell runs a command in a shell that has read the environment file, and returns its standard output.
func (k *keeper) shell(t *testing.T, line string) string {
	t.Helper()
	first := k.command(t, "in another shell, first")
	shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", first+"\n"+line)
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	var failed recorder
	shell.Stderr = &failed
	out, err := shell.Output()
	require.NoError(t, err, "%s\n%s%s", line, out, &failed)
	return string(out)
}

func TestTheCommandsOfADemoThatStaysUpWork(t *testing.T) {
	t.Parallel()
	k := start(t)
	k.await(t, `A replica that ends is started again`)
	require.Contains(t, k.out.String(), "Every rule held.")

	require.Contains(t, k.shell(t, k.command(t, "submit a text")), "done")
	require.Contains(t, k.shell(t, k.command(t, "index a folder or a file")), "done")
	require.Contains(t, k.shell(t, k.command(t, "search")), "«")
	leases := k.shell(t, k.command(t, "look at the leases"))
	require.Equal(t, 4, strings.Count(leases, " active "), leases)
	require.Equal(t, 2, strings.Count(leases, " revoked "), leases)
	url := strings.TrimPrefix(k.command(t, `is it ready\?`), "curl -s ")
	response, err := http.Get(url)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	log := strings.TrimPrefix(k.command(t, "watch its log"), "tail -f ")
	require.FileExists(t, strings.Trim(log, "'"))

	k.shell(t, k.command(t, "kill product-1"))
	k.await(t, `product-1 ended: signal: killed(.|\n)*product-1 started again`)
	k.shell(t, k.command(t, "pause corpus-1 past its lease"))
	k.await(t, `corpus-1 ended: exit status 75(.|\n)*corpus-1 started again`)

	require.NoError(t, k.process.Process.Signal(os.Interrupt))
	require.NoError(t, <-k.ended, "%s", &k.out)
	left, err := filepath.Glob(filepath.Join(k.temporary, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What people read goes elsewhere, so that a script gets one document and the status.
func TestAScriptGetsOneDocument(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	var out, said recorder
	process := exec.CommandContext(t.Context(), self, "demo", "--output", "json", "--docs", filepath.Join(t.TempDir(), "nowhere"))
	process.Stdout, process.Stderr = &out, &said
	var exit *exec.ExitError
	require.ErrorAs(t, process.Run(), &exit)
	require.Equal(t, boot.ExitUsage, exit.ExitCode())
	require.Empty(t, out.String())
	require.Contains(t, said.String(), "no such file or directory")
	require.False(t, json.Valid([]byte(said.String())))
}
