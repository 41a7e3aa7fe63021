package command_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/command"
)

// Progress is for eyes: it appears on a terminal and nowhere else.
func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	t.Parallel()
	p := empty(t)
	screen, terminal := openTerminal(t)
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // ends with an error when the terminal is closed
		seen <- string(text)
	}()
	var stdout strings.Builder
	code := command.Main(t.Context(), p.migrate("product"), p.as("owner"), strings.NewReader(""), &stdout, terminal)
	require.NoError(t, terminal.Close())
	require.Zero(t, code)
	require.Contains(t, <-seen, "migrating product")
	require.Equal(t, "product: 1 new migrations, now at version 2\n", stdout.String())

	require.Empty(t, call(t, p.as("owner"), "", p.migrate("product")...).stderr)
}

// The compiled program hands arguments, environment, streams and status through.
func TestTheProgramIsTheCommandLine(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "kesita")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/kesita")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	run := exec.CommandContext(t.Context(), program, "executors")
	run.Env = []string{"DATABASE_URL=postgres://u:" + password + "@127.0.0.1:1/x"}
	var stderr strings.Builder
	run.Stderr = &stderr
	require.Error(t, run.Run())
	require.Equal(t, boot.ExitUnavailable, run.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "kesita: list executors: failed to connect")
	require.NotContains(t, stderr.String(), password)

	p := migrated(t, "product")
	wait := exec.CommandContext(t.Context(), program, "task", "submit", "--tenant", "a", "--wait", "-")
	wait.Env, wait.Stdin = p.as("api"), strings.NewReader(text)
	require.NoError(t, wait.Start())
	require.Eventually(t, func() bool { return p.count(t, `select count(*) from product.task`) == 1 }, patience, tick)
	require.NoError(t, wait.Process.Signal(syscall.SIGINT))
	require.Error(t, wait.Wait())
	require.Equal(t, 130, wait.ProcessState.ExitCode())
}

// openTerminal opens a pseudo-terminal: what is written to terminal is read from screen.
func openTerminal(t testing.TB) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	require.NoError(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return screen, terminal
}
