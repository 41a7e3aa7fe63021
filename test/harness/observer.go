package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
)

const (
	// patience bounds every wait: far more than any of them takes on a busy machine.
	patience = 60 * time.Second
	tick     = 10 * time.Millisecond
)

// Await waits until condition is true. what completes the sentence "waited in vain until ...".
func Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	next := time.NewTicker(tick)
	defer next.Stop()
	for !condition() {
		select {
		case <-next.C:
		case <-limit.C:
			require.FailNow(t, "waited in vain until "+what)
		}
	}
}

// Observer looks at a database as its owner, which no guard stops. It is safe for concurrent use.
type Observer struct {
	mu   sync.Mutex
	conn *pgx.Conn
}

// Watch returns an observer that ends with the test.
func Watch(t testing.TB, d *fixture.Database) *Observer {
	return &Observer{conn: d.Connect(t, d.OwnerURL)}
}

// Exec runs one statement.
func (o *Observer) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.conn.Exec(context.WithoutCancel(t.Context()), sql, args...)
	require.NoError(t, err)
}

// Text is the one value of the one row of a query, as text; "" when there is no row.
func (o *Observer) Text(t testing.TB, sql string, args ...any) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var value any
	err := o.conn.QueryRow(context.WithoutCancel(t.Context()), sql, args...).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return ""
	}
	require.NoError(t, err)
	return fmt.Sprint(value)
}

// Await waits until Text is want.
func (o *Observer) Await(t testing.TB, want, sql string, args ...any) {
	t.Helper()
	var last string
	limit := time.NewTimer(patience)
	defer limit.Stop()
	next := time.NewTicker(tick)
	defer next.Stop()
	for {
		if last = o.Text(t, sql, args...); last == want {
			return
		}
		select {
		case <-next.C:
		case <-limit.C:
			require.Failf(t, "waited in vain", "%s %v: want %q, last %q", sql, args, want, last)
			return
		}
	}
}

// Status is a workflow's status in the journal.
func (o *Observer) Status(t testing.TB, workflow string) string {
	t.Helper()
	return o.Text(t, `select status from dbos.workflow_status where workflow_uuid = $1`, workflow)
}

// AwaitStatus waits until a workflow has the status.
func (o *Observer) AwaitStatus(t testing.TB, want, workflow string) {
	t.Helper()
	o.Await(t, want, `select status from dbos.workflow_status where workflow_uuid = $1`, workflow)
}

// Steps is how many checkpoints a workflow has.
func (o *Observer) Steps(t testing.TB, workflow string) string {
	t.Helper()
	return o.Text(t, `select count(*) from dbos.operation_outputs where workflow_uuid = $1`, workflow)
}

// Lease is the state of an executor's lease.
func (o *Observer) Lease(t testing.TB, executor string) string {
	t.Helper()
	return o.Text(t, `select state from workflow_coordination.executor where executor_id = $1::uuid`, executor)
}
