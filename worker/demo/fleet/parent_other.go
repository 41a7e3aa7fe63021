//go:build !linux

package fleet

import "syscall"

// endWithParent does nothing: only Linux has a parent-death signal.
func endWithParent(*syscall.SysProcAttr) {}
