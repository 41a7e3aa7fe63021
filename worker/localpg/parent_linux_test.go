package localpg_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerDiesWithItsKilledParentAndTheNextStartRemovesItsFolder(t *testing.T) {
	t.Parallel()
	temporary := folder(t) // other test binaries sweep the system's

	living := startParent(t, temporary)
	killed := startParent(t, temporary)
	require.NoError(t, killed.command.Process.Kill())
	_ = killed.command.Wait() // killed: always an error
	require.Eventually(t, func() bool { return gone(killed.server) }, patience, poll)
	require.DirExists(t, killed.dir)

	next := startParent(t, temporary)
	require.NoDirExists(t, killed.dir)
	require.DirExists(t, living.dir, "the folder of a living owner stays")
	require.NoError(t, errors.Join(living.finish(), next.finish()))
	require.NoDirExists(t, living.dir)
}

// parentProcess is another process with a server of its own.
type parentProcess struct {
	command *exec.Cmd
	stdin   io.Closer
	server  int
	dir     string
}

func startParent(t *testing.T, temporary string) *parentProcess {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), roleVariable+"=1", "TMPDIR="+temporary)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())

	started := &parentProcess{command: command, stdin: stdin}
	var log string
	_, err = fmt.Fscan(stdout, &started.server, &log)
	require.NoError(t, err)
	started.dir = filepath.Dir(log)
	return started
}

// finish ends the process in an orderly way.
func (p *parentProcess) finish() error {
	return errors.Join(p.stdin.Close(), p.command.Wait())
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
