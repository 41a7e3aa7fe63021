package localpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBinaries(t *testing.T) {
	t.Parallel()
	forbidden := func(context.Context) (string, error) {
		return "", errors.New("fetching was attempted")
	}

	t.Run("PathComesFirstAndItsLinksAreFollowed", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		fake(t, filepath.Join(root, "real", "bin"), "16.2")
		fake(t, filepath.Join(root, "lib", "17", "bin"), "17.1")
		require.NoError(t, os.Mkdir(filepath.Join(root, "links"), 0o700))
		require.NoError(t, os.Symlink(filepath.Join(root, "real", "bin", "postgres"), filepath.Join(root, "links", "postgres")))

		found, err := search{
			path:     filepath.Join(root, "links"),
			patterns: []string{filepath.Join(root, "lib", "*", "bin")},
			fetch:    forbidden,
		}.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, binaries{dir: filepath.Join(root, "real", "bin"), major: 16}, found)
	})

	t.Run("AnInterruptedSearchFetchesNothing", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		fake(t, filepath.Join(root, "16", "bin"), "16.2")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		fetched := false
		_, err := search{patterns: []string{filepath.Join(root, "*", "bin")}, fetch: func(context.Context) (string, error) {
			fetched = true
			return "", errors.New("fetching was attempted")
		}}.run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, fetched)
	})

	t.Run("TheNewestVersionedFolderWins", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		for _, version := range []string{"9.6", "15", "17", "16"} {
			fake(t, filepath.Join(root, version, "bin"), version)
		}
		found, err := search{patterns: []string{filepath.Join(root, "*", "bin")}, fetch: forbidden}.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 17, found.major)
	})

	t.Run("AnIncompleteOrTooOldFolderIsPassedOver", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		fake(t, filepath.Join(root, "old"), "14.9")
		fake(t, filepath.Join(root, "half"), "18.1")
		require.NoError(t, os.Remove(filepath.Join(root, "half", "initdb")))
		fake(t, filepath.Join(root, "lib", "15", "bin"), "15.4")
		found, err := search{
			path:     filepath.Join(root, "old") + ":" + filepath.Join(root, "half"),
			patterns: []string{filepath.Join(root, "lib", "*", "bin")},
			fetch:    forbidden,
		}.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 15, found.major)
	})

	t.Run("OnlyWhenNothingIsFoundTheyAreFetched", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		fake(t, filepath.Join(root, "fetched"), "17.5")
		found, err := search{
			path:  filepath.Join(root, "empty"),
			fetch: func(context.Context) (string, error) { return filepath.Join(root, "fetched"), nil },
		}.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, filepath.Join(root, "fetched"), found.dir)
	})

	t.Run("TheErrorSaysWhereWeLookedWhatWasRefusedAndWhatToDo", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		fake(t, filepath.Join(root, "old"), "14.9")
		_, err := search{
			path:     filepath.Join(root, "old"),
			patterns: []string{"/usr/lib/postgresql/none/bin"},
			fetch:    func(context.Context) (string, error) { return "", errors.New("no network") },
		}.run(t.Context())
		require.ErrorIs(t, err, ErrNoBinaries)
		require.EqualError(t, err, fmt.Sprintf("no PostgreSQL server binaries in PATH or /usr/lib/postgresql/none/bin; "+
			"not usable: %s is PostgreSQL 14, older than 15; fetching them did not work: no network; "+
			"on Debian/Ubuntu: apt-get install postgresql, elsewhere install PostgreSQL 15 or newer", filepath.Join(root, "old")))
	})

	t.Run("BinariesThatTheUnprivilegedAccountCannotReachAreRefused", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		require.NoError(t, os.Chmod(root, 0o700))
		fake(t, filepath.Join(root, "bin"), "17.1")
		_, err := inspect(t.Context(), filepath.Join(root, "bin"), &account{name: "nobody"})
		require.ErrorContains(t, err, "user nobody, which runs PostgreSQL for root, cannot enter "+root)
	})
}

func TestAPortThatSomebodyElseHasIsRecognised(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	require.NoError(t, server.Stop(t.Context(), Fast))

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(server.Port()))
	require.NoError(t, err)
	require.ErrorIs(t, server.StartAgain(t.Context()), errPortTaken)
	require.NoError(t, listener.Close())
	require.NoError(t, server.StartAgain(t.Context()), "an earlier run's complaint in the log is not this run's")
}

// fake writes a server that can only answer its version.
func fake(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
}
