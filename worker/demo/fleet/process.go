package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrEnded says that a process is gone. The error that carries it holds the status and the end of the log.
var ErrEnded = errors.New("process ended")

// Command describes a process.
type Command struct {
	// Name is what people call it, for example "corpus-2".
	Name string
	// Program and Args are what is run, Environ its whole environment.
	Program string
	Args    []string
	Environ []string
	// LogPath is the file for standard output and error; it is created or appended to.
	LogPath string
	// Poll is the pause between two looks at the log.
	Poll time.Duration
}

// Process is one running process. Its methods are safe for concurrent use.
type Process struct {
	command Command
	running *exec.Cmd
	exited  chan struct{}
	asked   atomic.Bool
	// logFrom is where this process's part of the log begins: an earlier one may have written to the same file.
	logFrom int64
}

// Start starts a process in a process group of its own: an interrupt typed at the terminal reaches only the demo,
// which then decides when each process ends.
func Start(command Command) (*Process, error) {
	log, err := os.OpenFile(command.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", command.Name, err)
	}
	defer func() { _ = log.Close() }() // the process has its own copy
	before, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", command.Name, err)
	}
	//nolint:noctx // a process outlives the call that starts it; Stop and Kill end it
	running := exec.Command(command.Program, command.Args...)
	running.Env, running.Stdout, running.Stderr = command.Environ, log, log
	running.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(running.SysProcAttr)
	p := &Process{command: command, running: running, exited: make(chan struct{}), logFrom: before.Size()}
	if err := p.startKept(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Name, err)
	}
	return p, nil
}

// startKept starts from a thread that lives as long as the process: Linux sends the parent-death signal when the
// starting thread ends, and Go may end an idle thread at any time.
func (p *Process) startKept() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.running.Start()
		started <- err
		if err == nil {
			_ = p.running.Wait() // the status is read from ProcessState
			close(p.exited)
		}
	}()
	return <-started
}

// Name is what people call the process.
func (p *Process) Name() string { return p.command.Name }

// PID is the process's number.
func (p *Process) PID() int { return p.running.Process.Pid }

// LogPath is the file with its standard output and error.
func (p *Process) LogPath() string { return p.command.LogPath }

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Alive reports whether the process is still there.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Asked reports whether Kill or Stop was called: an end before that is a surprise.
func (p *Process) Asked() bool { return p.asked.Load() }

// Status says how the process ended; only after Exited.
func (p *Process) Status() string { return p.running.ProcessState.String() }

// ExitCode is the process's exit status, -1 when a signal ended it; only after Exited.
func (p *Process) ExitCode() int { return p.running.ProcessState.ExitCode() }

// Failure returns nil while the process lives and when it was asked to end, else an error that matches ErrEnded.
func (p *Process) Failure() error {
	if p.Alive() || p.Asked() {
		return nil
	}
	return fmt.Errorf("%s: %w (%s); its log ends with:%s", p.Name(), ErrEnded, p.Status(), p.tail())
}

// Freeze suspends the process, as SIGSTOP does: it keeps everything it holds and does nothing.
func (p *Process) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.signal(syscall.SIGCONT) }

// Kill ends the process at once, as a crash does, and returns when it is gone.
func (p *Process) Kill() error {
	p.asked.Store(true)
	err := p.signal(syscall.SIGKILL)
	if err == nil {
		<-p.exited
	}
	return err
}

// Stop asks the process to end in an orderly way, and kills it when ctx ends first. It returns when it is gone.
func (p *Process) Stop(ctx context.Context) {
	p.asked.Store(true)
	_ = p.signal(syscall.SIGTERM) // gone already
	_ = p.signal(syscall.SIGCONT) // a frozen process hears nothing else
	select {
	case <-p.exited:
	case <-ctx.Done():
		_ = p.Kill() // gone already
	}
}

func (p *Process) signal(s syscall.Signal) error {
	if err := p.running.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", p.Name(), err)
	}
	return nil
}

// Await reads the log, one JSON object a line, until accept returns true. Lines that are no object are passed over.
// The error is that of ctx, or matches ErrEnded.
func (p *Process) Await(ctx context.Context, accept func(line map[string]any) bool) error {
	ticker := time.NewTicker(p.command.Poll)
	defer ticker.Stop()
	for {
		ended := !p.Alive() // before the look: what it said last counts
		accepted, err := p.search(accept)
		switch {
		case err != nil || accepted:
			return err
		case ended:
			return fmt.Errorf("%s: %w (%s); its log ends with:%s", p.Name(), ErrEnded, p.Status(), p.tail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", p.Name(), context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

func (p *Process) search(accept func(line map[string]any) bool) (bool, error) {
	text, err := p.said()
	if err != nil {
		return false, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil && accept(line) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// said is what this process wrote so far.
func (p *Process) said() ([]byte, error) {
	text, err := os.ReadFile(p.command.LogPath)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", p.Name(), err)
	}
	return text[min(p.logFrom, int64(len(text))):], nil
}

// tail is the end of the log, for people.
func (p *Process) tail() string {
	const most, longest = 6, 300 // lines, letters of a line
	text, err := p.said()
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	var end strings.Builder
	for _, line := range lines[max(0, len(lines)-most):] {
		if letters := []rune(line); len(letters) > longest {
			line = string(letters[:longest]) + " ..."
		}
		end.WriteString("\n  " + line)
	}
	return end.String()
}
