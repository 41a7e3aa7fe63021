package guard

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// silentPeerControl sets TCP_USER_TIMEOUT: data that a silent network never acknowledges ends the connection.
func silentPeerControl(limit time.Duration) func(network, address string, raw syscall.RawConn) error {
	return func(network, _ string, raw syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		var failed error
		if err := raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		}); err != nil {
			return err
		}
		return failed
	}
}
