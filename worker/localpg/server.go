package localpg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// ErrStopped is returned by Stop and Restart when the server does not run, be it
// stopped or crashed.
var ErrStopped = errors.New("PostgreSQL server is not running")

// ErrRunning is returned by StartAgain while the server runs.
var ErrRunning = errors.New("PostgreSQL server is running")

// startTimeout bounds the wait for the first connection, crash recovery
// included; killWait is what a server gets between SIGQUIT and SIGKILL when a
// Stop runs out of time; readyPoll is the pause between two attempts to connect.
// They stand here, not in coordination/timing, because they describe a machine's
// speed and no promise of the platform.
//
//policy:allow how fast a machine starts a server is no timing of the platform
const (
	startTimeout = 60 * time.Second
	killWait     = 10 * time.Second
	readyPoll    = 20 * time.Millisecond
)

// Superuser is the login that AdminURL uses; its password is random.
const Superuser = "postgres"

// Options describe a server. The zero value is a server in a temporary
// directory with the binaries that the machine has.
type Options struct {
	// Dir holds data, socket and log. It must be empty or absent, and short: a
	// socket path has at most 107 bytes. Default: a new temporary directory,
	// which Close removes.
	Dir string
	// BinDir is a folder with postgres and initdb. Default: search the machine.
	BinDir string
	// CacheDir is where fetched binaries are kept. Default: the user's cache
	// folder, /var/cache for root.
	CacheDir string
	// Settings go to postgresql.conf after the defaults (see settings.go).
	Settings map[string]string
	// Durable keeps fsync and full_page_writes on. Default false: data survives
	// the death of the server, but not of the machine.
	Durable bool
	// QuickLogins checks passwords with md5 instead of scram-sha-256, whose
	// thousands of hashes a login a test machine feels. Default false.
	QuickLogins bool
	// Progress, if set, is told each slow step in a few words.
	Progress func(string)
}

func (o Options) authentication() string {
	if o.QuickLogins {
		return "md5"
	}
	return "scram-sha-256"
}

// Mode says how the server ends.
type Mode int

const (
	// Fast ends sessions, writes a checkpoint and exits.
	Fast Mode = iota
	// Immediate exits at once, as in a crash; the next start recovers from the log.
	Immediate
)

// Server is one PostgreSQL server. Its methods are safe for concurrent use.
type Server struct {
	dir      *directory
	binaries binaries
	account  *account
	password string
	port     int
	progress func(string)

	// mu serialises start and stop and guards process.
	mu      sync.Mutex
	process *process
}

// Start finds binaries, creates a cluster and returns when it accepts logins.
// Errors: ErrNoBinaries, a directory that is not empty or that the
// unprivileged account cannot reach, or the end of the server's log.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := prepare(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := server.startOnFreePort(ctx); err != nil {
		return nil, errors.Join(err, server.dir.discard())
	}
	return server, nil
}

// URL is a connection string over loopback TCP for one login and database.
func (s *Server) URL(user, password, database string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     "127.0.0.1:" + strconv.Itoa(s.port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return address.String()
}

// AdminURL is URL for the superuser. It holds a secret.
func (s *Server) AdminURL(database string) string {
	return s.URL(Superuser, s.password, database)
}

// Port is the TCP port on 127.0.0.1; it stays the same over restarts.
func (s *Server) Port() int { return s.port }

// SocketDir is the folder of the unix socket.
func (s *Server) SocketDir() string { return s.dir.socket() }

// BinDir is the folder that the server's binaries came from.
func (s *Server) BinDir() string { return s.binaries.dir }

// LogPath is the server's log file.
func (s *Server) LogPath() string { return s.dir.log() }

// PID is the process id of the running server, 0 when it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.process.pid
}

// Stop ends the server and returns when its process is gone. The data stay, so
// that StartAgain can follow. When ctx ends first, the server is made to exit
// at once and ctx's error is returned. ErrStopped if it does not run.
func (s *Server) Stop(ctx context.Context, mode Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx, mode)
}

// StartAgain starts a stopped or crashed server on the same data and port.
func (s *Server) StartAgain(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return ErrRunning
	}
	return s.start(ctx)
}

// Restart is a fast Stop and StartAgain.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(ctx, Fast); err != nil {
		return err
	}
	return s.start(ctx)
}

// Close ends the server if it runs and removes its directory if Start made it.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.stop(ctx, Immediate)
	if errors.Is(err, ErrStopped) {
		err = nil
	}
	return errors.Join(err, s.dir.discard())
}

func prepare(ctx context.Context, options Options) (*Server, error) {
	progress := options.Progress
	if progress == nil {
		progress = func(string) {}
	}
	runAs, err := unprivilegedAccount()
	if err != nil {
		return nil, err
	}
	found, err := locate(ctx, options, runAs, progress)
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(options.Dir, found, runAs)
	if err != nil {
		return nil, err
	}
	server := &Server{dir: dir, binaries: found, account: runAs, progress: progress}
	progress("creating a PostgreSQL " + strconv.Itoa(found.major) + " cluster")
	if server.password, err = server.createCluster(ctx, options); err != nil {
		return nil, errors.Join(err, dir.discard())
	}
	return server, nil
}

// startOnFreePort tries other ports when somebody takes the chosen one between
// our look and the server's bind.
func (s *Server) startOnFreePort(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	const attempts = 10
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		err = s.start(ctx)
		if !errors.Is(err, errPortTaken) || attempt == attempts {
			return err
		}
	}
}

// start needs mu.
func (s *Server) start(ctx context.Context) error {
	s.progress(fmt.Sprintf("starting PostgreSQL on 127.0.0.1:%d", s.port))
	started, err := s.launch()
	if err != nil {
		return err
	}
	s.process = started
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.awaitReady(ctx); err != nil {
		started.end(syscall.SIGQUIT, killWait)
		return err
	}
	return nil
}

// stop needs mu.
func (s *Server) stop(ctx context.Context, mode Mode) error {
	if !s.running() {
		return ErrStopped
	}
	sig := syscall.SIGINT
	if mode == Immediate {
		sig = syscall.SIGQUIT
	}
	s.process.signal(sig)
	select {
	case <-s.process.exited:
		return nil
	case <-ctx.Done():
		s.process.end(syscall.SIGQUIT, killWait)
		return fmt.Errorf("stop PostgreSQL: %w", ctx.Err())
	}
}

// running needs mu.
func (s *Server) running() bool {
	return s.process != nil && s.process.alive()
}
