package coordination_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// F5: a business pool that leads anywhere else than the registry is refused, and so is what only looks the same.
func TestABusinessPoolLeadsWhereTheRegistryIs(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	other := fixture.Copy(t)
	r := open(t, config(d))
	host := "@" + mustParse(t, d.WorkerURL).Host
	_, port, _ := strings.Cut(host, ":")
	for name, to := range map[string]string{
		"OtherDatabase":    other.WorkerURL,
		"Alias":            strings.Replace(d.WorkerURL, host, "@localhost:"+port, 1),
		"OtherHost":        strings.Replace(d.WorkerURL, host, "@127.0.0.2:"+port, 1),
		"OtherPort":        strings.Replace(d.WorkerURL, host, "@127.0.0.1:1", 1),
		"FailOverEndpoint": strings.Replace(d.WorkerURL, host, host+",127.0.0.1:1", 1),
		"UnixSocket":       strings.Replace(d.WorkerURL, host, "@", 1) + "&port=" + port + "&host=" + url.QueryEscape(d.Server.SocketDir()),
	} {
		_, err := r.ConfigurePool(t.Context(), to, 2)
		require.ErrorIs(t, err, guard.ErrEndpoint, name)
		require.Equal(t, boot.ExitConfiguration, boot.Judge(err).ExitCode)
		require.NotContains(t, err.Error(), d.Worker.Password)
	}
	require.NoError(t, r.stop(t.Context()))
}

// F1, F5, K2: credentials may differ only as far as the fence knows them: a pool that could not write is refused when it is
// configured, not at the first write.
func TestABusinessPoolThatTheFenceWouldRefuseIsNotHandedOut(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := open(t, config(d))
	_, err := r.ConfigurePool(t.Context(), d.APIURL, 2)
	require.Equal(t, boot.ExitPermission, boot.Judge(err).ExitCode, err)

	// A second worker login: listed, but the lease is the first one's.
	o.Exec(t, `insert into workflow_coordination.worker_login values ($1)`, d.API.Name)
	d.Exec(t, d.AdminURL, `grant execute on function workflow_coordination.check_lease(uuid) to "`+d.API.Name+`"`)
	_, err = r.ConfigurePool(t.Context(), d.APIURL, 2)
	require.ErrorIs(t, err, lease.ErrNotWorker)
	require.Equal(t, boot.ExitPermission, boot.Judge(err).ExitCode)
	o.Exec(t, `delete from workflow_coordination.worker_login where login = $1`, d.API.Name)
	require.NoError(t, r.stop(t.Context()))
}

// F1: every session of a pool carries the identity, whatever was done to it before.
func TestEverySessionOfAPoolCarriesTheIdentity(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	r := open(t, config(d))
	for range 3 {
		tx, err := r.pool.Begin(t.Context())
		require.NoError(t, err)
		var identity string
		require.NoError(t, tx.QueryRow(t.Context(), `select current_setting('kesita.executor_id')`).Scan(&identity))
		require.Equal(t, r.id(), identity)
		require.NoError(t, tx.Commit(t.Context()))
		_, err = r.pool.Exec(t.Context(), `reset all`)
		require.NoError(t, err)
	}
	require.NoError(t, r.stop(t.Context()))
}

// Anchor B27, D1, F3: a service that leaks transactions until its pool is empty delays no renewal, and the server ends what
// was leaked: it can hold a takeover off no longer than that.
func TestAnExhaustedBusinessPoolDelaysNoRenewal(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := launch(t, config(d), single)
	leaked := make([]pgx.Tx, 4)
	for i := range leaked {
		var err error
		leaked[i], err = r.pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = leaked[i].Exec(t.Context(), `insert into shop.orders (id) values ($1)`, fmt.Sprint("leaked", i))
		require.NoError(t, err)
	}
	beat := func() string {
		return o.Text(t, `select heartbeat_at::text from workflow_coordination.executor where executor_id = $1`, r.ExecutorID())
	}
	for range 3 {
		before := beat()
		harness.Await(t, "the next renewal", func() bool { return beat() != before })
	}
	require.False(t, r.condemned())
	harness.Await(t, "the server ended the leaked transactions", func() bool {
		return o.Text(t, `select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`) == "0"
	})
	for _, tx := range leaked {
		require.Error(t, tx.Commit(t.Context()))
	}
	require.NoError(t, r.write(t.Context(), "after"))
	require.NoError(t, r.stop(t.Context()))
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	require.NoError(t, err)
	return u
}
