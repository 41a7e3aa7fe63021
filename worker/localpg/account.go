package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the unprivileged user that a root process runs the server as.
// nil means: run it as ourselves.
type account struct {
	name     string
	uid, gid uint32
}

// unprivilegedAccount is nil unless we are root.
func unprivilegedAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("read account %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user `postgres` nor `nobody`")
}

// credential is nil for "as ourselves". Supplementary groups are dropped.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own hands a file or folder over to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("hand over to %s: %w", a.name, err)
	}
	return nil
}

// canReach reports an error when a folder above path is closed to others: the
// server would start and find nothing.
func (a *account) canReach(path string) error {
	if a == nil {
		return nil
	}
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("user %s, which runs PostgreSQL for root, cannot enter %s", a.name, folder)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}
