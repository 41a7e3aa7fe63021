package app

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
)

// Not parallel: signals are the process's own.
func TestASecondSignalDoesNotWaitForTheFirst(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	code := untilSignalled(t.Context(), func(ctx context.Context) int {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		<-ctx.Done()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		<-release // a stop that hangs
		return boot.ExitClean
	})
	require.Equal(t, boot.ExitInternal, code)
}
