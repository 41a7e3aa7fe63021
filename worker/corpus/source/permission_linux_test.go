package source_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/source"
)

func TestWhatThePermissionsForbidIsUnreadableAndTheRestIsStillListed(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"open.txt": "x", "shut.txt": "x", "private/deep.txt": "x"})
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(dir+"/open.txt", 0o644))
	require.NoError(t, os.Chmod(dir+"/shut.txt", 0))
	require.NoError(t, os.Chmod(dir+"/private", 0))
	t.Cleanup(func() { _ = os.Chmod(dir+"/private", 0o755) })

	unprivileged(func() {
		opener, err := source.New(source.Config{Base: dir})
		require.NoError(t, err)
		items, err := opener.List(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, uris(dir, "open.txt", "private", "shut.txt"), items)
		require.Equal(t, "x", read(t, opener, dir+"/open.txt"))
		for _, name := range []string{"/shut.txt", "/private", "/private/deep.txt"} {
			_, err = opener.Open(t.Context(), dir+name)
			require.ErrorIs(t, err, refusal.Unreadable, name)
			require.ErrorContains(t, err, "permission denied", name)
			require.False(t, refusal.Heals(err), name)
		}
		_, err = opener.List(t.Context(), dir+"/private")
		require.ErrorIs(t, err, refusal.Unreadable)
	})
}

// unprivileged runs fn with the file rights of somebody else, also for root: the change is one thread's, and the
// thread ends with its goroutine.
func unprivileged(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			_ = syscall.Setfsgid(65534)
			_ = syscall.Setfsuid(65534)
		}
		fn()
	}()
	<-done
}
