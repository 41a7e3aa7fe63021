package fleet_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/demo/fleet"
)

// role makes this test binary one of the processes under test.
const role = "KESITA_FLEET_TEST_ROLE"

const (
	patience = 30 * time.Second
	poll     = 5 * time.Millisecond
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "worker":
		fmt.Println(`no json`)
		fmt.Printf("{\"started\":%q}\n", os.Args[1])
		bufio.NewScanner(os.Stdin).Scan() // stdin is empty: ends at once
		<-time.After(patience)
	case "broken":
		fmt.Println(`{"started":"broken"}`)
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(3)
	case "parent":
		p, err := fleet.Start(command(os.Getenv("FOLDER"), "worker", "child"))
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
		<-time.After(patience)
	}
}

func command(folder, as, name string) fleet.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fleet.Command{
		Name: name, Program: self, Args: []string{name}, Environ: []string{role + "=" + as, "GOTRACEBACK=none"},
		LogPath: filepath.Join(folder, name+".log"), Poll: poll,
	}
}

func start(t *testing.T, as, name string) *fleet.Process {
	t.Helper()
	p, err := fleet.Start(command(t.TempDir(), as, name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func announced(name string) func(map[string]any) bool {
	return func(line map[string]any) bool { return line["started"] == name }
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestAProcessIsHeardFrozenThawedAndKilled(t *testing.T) {
	t.Parallel()
	p := start(t, "worker", "one")
	require.NoError(t, p.Await(within(t), announced("one")))
	require.True(t, p.Alive())
	require.NoError(t, p.Freeze())
	require.Eventually(t, func() bool { return state(t, p.PID()) == "T" }, patience, poll)
	require.NoError(t, p.Thaw())
	require.Eventually(t, func() bool { return state(t, p.PID()) != "T" }, patience, poll)
	require.NoError(t, p.Kill())
	require.False(t, p.Alive())
	require.NoError(t, p.Failure(), "it was asked to end")
	require.Error(t, p.Freeze())
}

func TestAFrozenProcessStops(t *testing.T) {
	t.Parallel()
	p := start(t, "worker", "frozen")
	require.NoError(t, p.Await(within(t), announced("frozen")))
	require.NoError(t, p.Freeze())
	p.Stop(within(t))
	require.False(t, p.Alive())
}

func TestAProcessThatEndsByItselfIsReportedWithItsStatusAndItsLog(t *testing.T) {
	t.Parallel()
	p := start(t, "broken", "broken")
	require.NoError(t, p.Await(within(t), announced("broken")), "what it said last counts")
	err := p.Await(within(t), announced("never"))
	require.ErrorIs(t, err, fleet.ErrEnded)
	for _, err := range []error{err, p.Failure()} {
		require.ErrorContains(t, err, "exit status 3")
		require.ErrorContains(t, err, "cannot go on")
	}
}

func TestASecondProcessWithTheSameLogIsNotTakenForTheFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := fleet.Start(command(folder, "broken", "same"))
	require.NoError(t, err)
	<-first.Exited()
	require.Equal(t, "exit status 3", first.Status())
	require.Equal(t, 3, first.ExitCode())
	second, err := fleet.Start(command(folder, "worker", "same"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = second.Kill() })
	require.NoError(t, second.Await(within(t), announced("same")))
	ctx, cancel := context.WithTimeout(t.Context(), 20*poll)
	defer cancel()
	require.ErrorIs(t, second.Await(ctx, announced("broken")), context.DeadlineExceeded)
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t, "worker", "silent")
	ctx, cancel := context.WithTimeout(t.Context(), 20*poll)
	defer cancel()
	require.ErrorIs(t, p.Await(ctx, announced("never")), context.DeadlineExceeded)
}

// A demo that is killed itself leaves nothing running.
func TestAProcessDiesWithItsKilledParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), role+"=parent", "FOLDER="+t.TempDir())
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var child int
	_, err = fmt.Fscan(out, &child)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(child, 0))
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait() // killed: always an error
	require.Eventually(t, func() bool { s := state(t, child); return s == "" || s == "Z" }, patience, poll)
}

// state is the letter that the kernel gives to a process, empty when there is none.
func state(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
}
