package localpg_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/localpg"
)

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("RestartKeepsDataPortAndPassword", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		url, port, pid := server.AdminURL("postgres"), server.Port(), server.PID()
		execute(t, url, `create table mark as select 1 as id`)

		require.NoError(t, server.Restart(t.Context()))
		require.Equal(t, port, server.Port())
		require.NotEqual(t, pid, server.PID())
		execute(t, url, `drop table mark`)
	})

	t.Run("ACommitSurvivesAnImmediateStop", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		execute(t, server.AdminURL("postgres"), `create table mark as select 1 as id`)

		require.NoError(t, server.Stop(t.Context(), localpg.Immediate))
		require.NoError(t, server.StartAgain(t.Context()))
		execute(t, server.AdminURL("postgres"), `drop table mark`)
	})

	t.Run("StopEndsTheProcessAndClosesThePort", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		pid := server.PID()
		require.NoError(t, server.Stop(t.Context(), localpg.Fast))
		require.Zero(t, server.PID())
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		_, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(server.Port()))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})

	t.Run("StopWithoutTimeStillEndsTheProcess", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		pid := server.PID()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, server.Stop(ended, localpg.Fast), context.Canceled)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	})

	t.Run("CloseRemovesTheTemporaryDirectory", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		require.NoError(t, server.Close(t.Context()))
		require.NoDirExists(t, filepath.Dir(server.LogPath()))
		require.NoError(t, server.Close(t.Context()), "a second Close is harmless")
	})

	t.Run("CloseLeavesADirectoryThatTheCallerChose", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{Dir: folder(t)})
		require.NoError(t, server.Close(t.Context()))
		require.FileExists(t, server.LogPath())
	})

	t.Run("VerbsSayWhenTheStateDoesNotFit", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		require.ErrorIs(t, server.StartAgain(t.Context()), localpg.ErrRunning)
		require.NoError(t, server.Stop(t.Context(), localpg.Fast))
		require.ErrorIs(t, server.Stop(t.Context(), localpg.Fast), localpg.ErrStopped)
		require.ErrorIs(t, server.Restart(t.Context()), localpg.ErrStopped)
	})

	t.Run("ACrashedServerIsNotRunningAndStartsAgain", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		require.NoError(t, syscall.Kill(server.PID(), syscall.SIGKILL))
		require.Eventually(t, func() bool { return server.PID() == 0 }, patience, poll)
		require.NoError(t, server.StartAgain(t.Context()))
	})

	t.Run("TheServerNeverRunsAsRoot", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		info, err := os.Stat(filepath.Join(filepath.Dir(server.LogPath()), "data", "postmaster.pid"))
		require.NoError(t, err)
		status, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.NotZero(t, status.Uid)
		if os.Geteuid() != 0 {
			require.EqualValues(t, os.Geteuid(), status.Uid)
		}
	})

	t.Run("NobodyLogsInWithoutThePassword", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{})
		_, err := pgx.Connect(t.Context(), server.URL(localpg.Superuser, "guess", "postgres"))
		require.ErrorContains(t, err, "password authentication failed")
		bySocket := "host=" + server.SocketDir() + " port=" + strconv.Itoa(server.Port()) + " user=postgres password=guess"
		_, err = pgx.Connect(t.Context(), bySocket)
		require.ErrorContains(t, err, "password authentication failed")
	})

	t.Run("SettingsReachTheServer", func(t *testing.T) {
		t.Parallel()
		server := start(t, localpg.Options{Durable: true, Settings: map[string]string{"application_name": "it's"}})
		require.Equal(t, "it's", show(t, server, "application_name"))
		require.Equal(t, "on", show(t, server, "fsync"))
		require.Equal(t, "127.0.0.1", show(t, server, "listen_addresses"))
		require.Equal(t, "200", show(t, server, "max_connections"))
	})
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()

	t.Run("ADirectoryThatIsNotEmpty", func(t *testing.T) {
		t.Parallel()
		dir := folder(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600))
		_, err := localpg.Start(t.Context(), localpg.Options{Dir: dir})
		require.ErrorContains(t, err, "is not empty")
		require.FileExists(t, filepath.Join(dir, "precious"))
	})

	t.Run("ASettingThatTheServerDoesNotKnowAndQuotesTheServer", func(t *testing.T) {
		t.Parallel()
		_, err := localpg.Start(t.Context(), localpg.Options{Settings: map[string]string{"no_such_setting": "1"}})
		require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
	})

	t.Run("ASocketFolderThatIsTooLong", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(folder(t), "a-folder-with-a-name-that-is-much-too-long-for-the-path-of-a-unix-socket-on-any-system")
		require.NoError(t, os.Mkdir(dir, 0o755))
		_, err := localpg.Start(t.Context(), localpg.Options{Dir: dir})
		require.ErrorContains(t, err, "longer than")
	})

	t.Run("ACancelledStartAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		ended, cancel := context.WithCancel(t.Context())
		steps := 0
		dir := folder(t)
		_, err := localpg.Start(ended, localpg.Options{Dir: dir, Progress: func(string) {
			steps++
			if steps == 2 { // initdb is done, the server is about to start
				cancel()
			}
		}})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, postmasterFile(dir), fs.ErrNotExist)
	})
}

func postmasterFile(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
	return err
}

func start(t *testing.T, options localpg.Options) *localpg.Server {
	t.Helper()
	server, err := localpg.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	return server
}

// folder is like t.TempDir, but root's unprivileged account can enter it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "localpg-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = connection.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, connection.Close(t.Context()))
}

func show(t *testing.T, server *localpg.Server, setting string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), server.AdminURL("postgres"))
	require.NoError(t, err)
	var value string
	require.NoError(t, connection.QueryRow(t.Context(), `select current_setting($1)`, setting).Scan(&value))
	require.NoError(t, connection.Close(t.Context()))
	return value
}
