//go:build !linux

package guard

import (
	"syscall"
	"time"
)

// silentPeerControl does nothing where TCP_USER_TIMEOUT does not exist: keep-alive and the callers' own deadlines
// bound a silent network there.
func silentPeerControl(time.Duration) func(network, address string, raw syscall.RawConn) error {
	return nil
}
