package watchdog_test

import (
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/coordination/watchdog"
)

// hungVariable makes this test binary play a process in which everything hangs.
const hungVariable = "WATCHDOG_TEST_HUNG"

// hang: every processor spins, the log is a pipe that nobody reads, the watchdog's lock is held, memory is churned.
// Only the exit is left.
func hang() {
	dog := watchdog.New(watchdog.Config{
		Timing: timing.Production().Scale(0.02), Log: signal.New(signal.JSON(os.Stdout, slog.LevelInfo)), Exit: os.Exit, Code: code,
	})
	dog.Seize()
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			for {
				churn()
			}
		}()
	}
	go func() {
		for { // until the pipe is full
			_, _ = os.Stdout.Write(make([]byte, 1<<16))
		}
	}()
	dog.Trip(signal.LeaseLost)
	select {}
}

// D7, K9: the real exit of a real process.
func TestAProcessInWhichEverythingHangsEndsWithTheCodeOfAForcedExit(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), executable, "-test.run=^$")
	command.Env = append(os.Environ(), hungVariable+"=yes")
	unread, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	began := time.Now()
	var ended *exec.ExitError
	require.ErrorAs(t, command.Wait(), &ended)
	_ = unread.Close()
	require.Equal(t, code, ended.ExitCode())
	require.Less(t, time.Since(began), 30*time.Second)
}

//go:noinline
func churn() []byte { return make([]byte, 1<<12) }
