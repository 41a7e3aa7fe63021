package guard_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/test/fixture"
)

// H5: a fail-over leaves sessions on a node that only reads. Each costs one write; the pool is whole again without help.
func TestASessionOnAReadOnlyNodeLeavesThePool(t *testing.T) {
	t.Parallel()
	d := fixture.New(t)
	registry, err := pgx.ParseConfig(d.WorkerURL)
	require.NoError(t, err)
	id := d.Executor(t, time.Hour.Milliseconds())
	pool, err := guard.Open(t.Context(), registry, guard.Identity{ExecutorID: id, Timing: fixture.Timing()}, d.WorkerURL, 1)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	worker := pgx.Identifier{d.Worker.Name}.Sanitize()
	d.Exec(t, d.AdminURL, `alter role `+worker+` set default_transaction_read_only = on`)
	write := func() error {
		_, err := pool.Exec(t.Context(), `insert into shop.orders (id) values ('a')`)
		return err
	}
	err = write()
	require.ErrorContains(t, err, "25006")
	require.Equal(t, fault.Outage, fault.Of(err))
	d.Exec(t, d.AdminURL, `alter role `+worker+` reset default_transaction_read_only`)
	require.NoError(t, write())
}
