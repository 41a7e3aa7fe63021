package localpg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// sweepTimeout bounds the end of one left server.
//
//policy:allow see startTimeout in server.go
const sweepTimeout = 15 * time.Second

// sweep removes the temporary folders whose owner died, and ends a server that
// still runs in one. It answers nothing: what it cannot clean, it leaves.
func sweep(base string, found binaries, runAs *account) {
	folders, _ := filepath.Glob(filepath.Join(base, temporaryName+"*")) // the pattern is a constant
	for _, path := range folders {
		if !ours(path, runAs) {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, ownerLock)); err != nil {
			continue // just made, not locked yet
		}
		lock, err := lockOwner(path)
		if err != nil {
			continue
		}
		left := &directory{path: path, temporary: true, lock: lock}
		endLeft(left, found, runAs)
		_ = left.discard()
	}
}

// ours keeps a root process away from folders that other users made.
func ours(path string, runAs *account) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if runAs != nil {
		return status.Uid == runAs.uid
	}
	return int(status.Uid) == os.Geteuid()
}

// endLeft lets pg_ctl do it, which checks that the pid in the folder is a
// server's. Some packages of fetched binaries lack it; then the folder's
// removal makes the server end itself.
func endLeft(left *directory, found binaries, runAs *account) {
	if _, err := os.Stat(filepath.Join(left.data(), "postmaster.pid")); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, found.tool("pg_ctl"), "stop", "-m", "immediate", "-D", left.data())
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Credential: runAs.credential()}
	_ = command.Run()
}
