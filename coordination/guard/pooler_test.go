package guard_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
)

// F1, K2: a pooler lends one server session to many clients, so it keeps no start-up parameter that it does not know,
// in session mode neither. A worker behind one says so and ends; it neither starts without a fence nor tries for ever.
func TestAPoolerThatLosesTheIdentityIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	const dropped = "kesita.executor_id, statement_timeout, idle_in_transaction_session_timeout, tcp_user_timeout, lock_timeout"
	cases := []struct{ name, mode, ignored string }{
		{"TransactionModeThatRefusesIt", "transaction", ""},
		{"TransactionModeThatDropsIt", "transaction", dropped},
		{"SessionModeThatDropsIt", "session", dropped},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := coordination.Open(t.Context(), coordination.Config{
				Application: fixture.Application, Version: fixture.Version, DatabaseURL: startPooler(t, d, c.mode, c.ignored),
				Timing: coordination.ProductionTiming(), Environ: []string{},
			})
			require.ErrorIs(t, err, lease.ErrIdentityLost)
			verdict := boot.Judge(err)
			require.Equal(t, signal.IdentityLost, verdict.Reason, err)
			require.False(t, verdict.Retry)
			require.Equal(t, boot.ExitConfiguration, verdict.ExitCode)
			require.Zero(t, scan[int](t, d.Connect(t, d.OwnerURL), `select count(*) from workflow_coordination.executor`))
		})
	}
}

// F2: the same in the middle of the work: a session that reaches the server without its identity writes nothing.
func TestAWriteThroughAPoolerThatDropsTheIdentityIsRefused(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	config := parse(t, startPooler(t, d, "transaction", "kesita.executor_id"))
	config.RuntimeParams["kesita.executor_id"] = d.Executor(t, longLease).String()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	require.Equal(t, "KF003", state(write(t, begin(t, conn, pgx.ReadCommitted))))
}

// startPooler starts a real pgbouncer before the database and returns the worker's URL through it: a unix socket in a
// directory of its own, so that no port can be taken.
func startPooler(t *testing.T, d *fixture.Database, mode, ignored string) string {
	t.Helper()
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		binary = "/usr/sbin/pgbouncer" // not in every account's PATH
	}
	require.FileExists(t, binary, "install pgbouncer")
	dir, err := os.MkdirTemp("", "pooler")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `
[databases]
* = host=127.0.0.1 port=%d user=%s password=%s
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = %s
ignore_startup_parameters = %s
default_pool_size = 3
`, d.Server.Port(), d.Worker.Name, d.Worker.Password, dir, mode, ignored), 0o600))

	process := exec.CommandContext(t.Context(), binary, settings)
	if os.Getuid() == 0 {
		process.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(t, dir, settings), Pdeathsig: syscall.SIGKILL}
	}
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, poll)
	return fmt.Sprintf("postgres:///%s?host=%s&port=6432&user=%s&password=%s", d.Name, url.QueryEscape(dir), d.Worker.Name, d.Worker.Password)
}

// nobody is the account that pgbouncer runs as instead of root, which it refuses; it gets the named files.
func nobody(t *testing.T, files ...string) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.Atoi(account.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(account.Gid)
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.Chown(file, uid, gid))
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
