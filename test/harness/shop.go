package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/test/fixture"
)

// Submit sends the shop one workflow, as its API would. The ID is the workflow's ID and its input.
func Submit(t testing.TB, d *fixture.Database, queue, workflow, id string) {
	t.Helper()
	client, err := submit.Open(t.Context(), d.APIURL, fixture.Application, fixture.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	conn := d.Connect(t, d.APIURL)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, client.Submit(t.Context(), tx, submit.Request{Queue: queue, Workflow: workflow, ID: id, Input: id}))
	require.NoError(t, tx.Commit(t.Context()))
}

// Open lets the shop's workflow with this ID go on.
func (o *Observer) Open(t testing.TB, id string) {
	t.Helper()
	o.Exec(t, `insert into shop.orders (id) values ($1) on conflict do nothing`, "gate/"+id)
}

// Order is who wrote a row of shop.orders last and what its amount is, as "writer/amount"; "" when there is none.
func (o *Observer) Order(t testing.TB, id string) string {
	t.Helper()
	return o.Text(t, `select coalesce(writer, '') || '/' || amount from shop.orders where id = $1`, id)
}

// AwaitOrder waits until there is such a row.
func (o *Observer) AwaitOrder(t testing.TB, id string) {
	t.Helper()
	o.Await(t, "true", `select exists (select from shop.orders where id = $1)`, id)
}
