package localpg_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/localpg"
)

func TestAServerDiesWithItsKilledParentAndTheNextStartRemovesItsFolder(t *testing.T) {
	t.Parallel()
	other := start(t, localpg.Options{})

	pid, dir := killedParent(t)
	require.Eventually(t, func() bool { return gone(pid) }, patience, poll)
	require.DirExists(t, dir)

	start(t, localpg.Options{})
	require.NoDirExists(t, dir)
	require.FileExists(t, other.LogPath(), "the folder of a living owner stays")
}

// killedParent runs a parent with a server of its own, kills it and answers
// the server's pid and folder.
func killedParent(t *testing.T) (pid int, dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), roleVariable+"=1")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = stdin.Close() }()
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())

	var log string
	_, err = fmt.Fscan(io.LimitReader(stdout, 4096), &pid, &log)
	require.NoError(t, err)
	require.NoError(t, command.Process.Kill())
	_ = command.Wait() // killed: always an error
	return pid, filepath.Dir(log)
}

// gone counts a process that nobody has collected yet as gone.
func gone(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	fields := bytes.Fields(status[bytes.LastIndexByte(status, ')')+1:])
	return string(fields[0]) == "Z"
}
