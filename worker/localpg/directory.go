package localpg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	temporaryName = "kesita-postgresql-"
	ownerLock     = "owner.lock"
	// longestSocketDir leaves room for "/.s.PGSQL.65535.lock" in the 103 bytes
	// that the strictest system (macOS) allows.
	longestSocketDir = 80
)

// directory is the server's folder: data, socket and log. The lock on its
// owner.lock tells other processes that its owner is alive.
type directory struct {
	path      string
	temporary bool
	lock      *os.File
}

func (d *directory) data() string   { return filepath.Join(d.path, "data") }
func (d *directory) socket() string { return filepath.Join(d.path, "socket") }
func (d *directory) log() string    { return filepath.Join(d.path, "postgresql.log") }

// openDirectory prepares the wanted folder, or a temporary one when wanted is empty.
func openDirectory(wanted string, found binaries, runAs *account) (*directory, error) {
	if wanted == "" {
		sweep(temporaryBase(runAs), found, runAs)
		return temporaryDirectory(runAs)
	}
	path, err := filepath.Abs(wanted)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make PostgreSQL folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read PostgreSQL folder: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("PostgreSQL folder %s is not empty", path)
	}
	return occupy(path, false, runAs)
}

// temporaryDirectory tries again when another process's sweep takes the new
// folder for a left one.
func temporaryDirectory(runAs *account) (*directory, error) {
	for {
		path, err := os.MkdirTemp(temporaryBase(runAs), temporaryName)
		if err != nil {
			return nil, fmt.Errorf("make temporary folder: %w", err)
		}
		made, err := occupy(path, true, runAs)
		if !errors.Is(err, errOccupied) {
			return made, err
		}
	}
}

// temporaryBase is the system's temporary folder, or /tmp when the account that
// runs the server cannot enter that.
func temporaryBase(runAs *account) string {
	base := os.TempDir()
	if runAs.canReach(filepath.Join(base, "x")) != nil {
		return "/tmp"
	}
	return base
}

func occupy(path string, temporary bool, runAs *account) (*directory, error) {
	if err := runAs.canReach(path); err != nil {
		return nil, err
	}
	if socket := filepath.Join(path, "socket"); len(socket) > longestSocketDir {
		return nil, fmt.Errorf("socket folder %s is longer than %d bytes", socket, longestSocketDir)
	}
	lock, err := lockOwner(path)
	if err != nil {
		return nil, err
	}
	made := &directory{path: path, temporary: temporary, lock: lock}
	err = errors.Join(os.Mkdir(made.socket(), 0o700), os.Mkdir(made.data(), 0o700))
	for _, owned := range []string{path, made.socket(), made.data()} {
		err = errors.Join(err, runAs.own(owned))
	}
	if err != nil {
		return nil, errors.Join(err, made.discard())
	}
	return made, nil
}

// discard ends the ownership and removes a temporary folder.
func (d *directory) discard() error {
	var err error
	if d.temporary {
		err = os.RemoveAll(d.path)
	}
	_ = d.lock.Close() // a second Close finds it closed
	return err
}

// errOccupied: another process holds the lock, or has just removed it.
var errOccupied = errors.New("PostgreSQL folder belongs to a running process")

func lockOwner(path string) (*os.File, error) {
	name := filepath.Join(path, ownerLock)
	lock, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errOccupied
	}
	if err != nil {
		return nil, fmt.Errorf("open owner lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, errOccupied
	}
	held, heldErr := lock.Stat()
	named, namedErr := os.Stat(name)
	if heldErr != nil || namedErr != nil || !os.SameFile(held, named) {
		_ = lock.Close()
		return nil, errOccupied
	}
	return lock, nil
}
