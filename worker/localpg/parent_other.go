//go:build !linux

package localpg

import "syscall"

// endWithParent does nothing: only Linux tells a child of its parent's death.
// The next Start of the same user ends a server that was left (sweep.go).
func endWithParent(*syscall.SysProcAttr) {}
