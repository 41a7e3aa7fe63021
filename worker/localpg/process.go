package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// process is one run of the server. exited closes when the operating system
// has reported its end.
type process struct {
	pid    int
	exited chan struct{}

	command *exec.Cmd
	// logFrom is the size of the log at the start: what follows is this run's.
	logFrom int64
}

// launch starts the server process in its own process group, so that an
// interrupt typed at the terminal reaches only us and we decide when it stops.
func (s *Server) launch() (*process, error) {
	logFile, err := os.OpenFile(s.dir.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	defer func() { _ = logFile.Close() }()
	logInfo, err := logFile.Stat()
	if err != nil {
		return nil, fmt.Errorf("read server log: %w", err)
	}
	//nolint:noctx // the server outlives the context of the call that starts it
	command := exec.Command(s.binaries.tool("postgres"), "-D", s.dir.data(), "-p", strconv.Itoa(s.port))
	s.configure(command)
	command.Stdout, command.Stderr = logFile, logFile
	started, err := startKept(command)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	started.logFrom = logInfo.Size()
	return started, nil
}

// configure gives a command the account, folder and environment of the server.
// PG* variables of the caller are left out: they would point elsewhere.
func (s *Server) configure(command *exec.Cmd) {
	command.Dir = s.dir.path
	command.Env = []string{"PATH=" + s.binaries.dir + ":/usr/bin:/bin", "HOME=" + s.dir.path, "TZ=UTC", "LC_MESSAGES=C"}
	if libraries := os.Getenv("LD_LIBRARY_PATH"); libraries != "" {
		command.Env = append(command.Env, "LD_LIBRARY_PATH="+libraries)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.account.credential()}
	endWithParent(command.SysProcAttr)
}

// startKept starts a command from a thread that lives as long as the command:
// Linux sends the parent-death signal when the starting *thread* ends, and Go
// may end an idle thread at any time.
func startKept(command *exec.Cmd) (*process, error) {
	kept := &process{exited: make(chan struct{}), command: command}
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		result <- err
		if err == nil {
			kept.await()
		}
	}()
	if err := <-result; err != nil {
		return nil, err
	}
	kept.pid = command.Process.Pid
	return kept, nil
}

// await collects the exit status. How the server ended is in its log.
func (p *process) await() {
	_ = p.command.Wait()
	close(p.exited)
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal is a no-op for a process that has ended: os.Process refuses to signal
// a pid that it has already waited for.
func (p *process) signal(sig os.Signal) {
	_ = p.command.Process.Signal(sig)
}

// end makes sure that the process is gone: sig first, SIGKILL after patience.
func (p *process) end(sig os.Signal, patience time.Duration) {
	p.signal(sig)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
}

// errPortTaken: somebody else bound the port first.
var errPortTaken = errors.New("port is taken")

// awaitReady returns when the superuser could log in. The random password
// makes sure that it is our server that answered.
func (s *Server) awaitReady(ctx context.Context) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	attempts, cancel := s.process.untilExit(ctx)
	defer cancel()
	for {
		err := s.login(attempts)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.exited:
			return s.startFailure()
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL on port %d: %w (last answer: %w)", s.port, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// untilExit is ctx, ended early by the end of the process: whoever else listens
// on the port might never answer a login.
func (p *process) untilExit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-p.exited:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (s *Server) login(ctx context.Context) error {
	connection, err := pgx.Connect(ctx, s.AdminURL(Superuser))
	if err != nil {
		return err
	}
	return connection.Close(ctx)
}

func (s *Server) startFailure() error {
	said := tail(s.dir.log(), s.process.logFrom)
	if strings.Contains(said, "could not bind") || strings.Contains(said, "could not create any TCP/IP sockets") {
		return fmt.Errorf("start PostgreSQL on port %d: %w", s.port, errPortTaken)
	}
	return fmt.Errorf("PostgreSQL ended while starting; its log ends with:\n%s", said)
}

// tail is the end of what was written to a log since offset from.
func tail(path string, from int64) string {
	const longest = 1500
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err.Error()
	}
	begin := max(int(from), len(text)-longest)
	return strings.TrimSpace(string(text[min(begin, len(text)):]))
}
