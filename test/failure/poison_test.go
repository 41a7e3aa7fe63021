package failure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// fleet keeps some workers running: one that ended is replaced by a fresh one.
type fleet struct {
	d       *fixture.Database
	size    int
	workers []*harness.Worker
}

// living starts what is missing and returns how many have died so far.
func (f *fleet) living(t *testing.T) (deaths int) {
	t.Helper()
	alive := 0
	for _, w := range f.workers {
		if w.Running() {
			alive++
		}
	}
	for ; alive < f.size; alive++ {
		f.workers = append(f.workers, harness.Start(t, environment(f.d, "QUEUE_CONCURRENCY=8")))
	}
	return len(f.workers) - f.size
}

// V2, P1, P2, P3, X3: a workflow kills each worker that runs it, four in all, while six healthy ones share the first of
// them. It is quarantined, signalled once by all workers together, and settled without a fifth run; each neighbour ends
// well, and the survivors go on with new work.
func TestAPoisonWorkflowCostsFourWorkersAndNoNeighbour(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	neighbours := about("neighbour", 6)
	for _, id := range neighbours {
		harness.Submit(t, d, "orders", "shop.order", id)
	}
	f := &fleet{d: d, size: 2}
	f.living(t)
	for _, id := range neighbours {
		o.AwaitOrder(t, "run/"+id+"/ship")
	}
	harness.Submit(t, d, "orders", "shop.crash", "poison")
	for deaths := 1; deaths <= 4; deaths++ {
		harness.Await(t, "it killed a worker again", func() bool { return f.living(t) >= deaths })
		if deaths == 2 {
			for _, id := range neighbours {
				o.Open(t, id)
			}
		}
	}
	o.AwaitStatus(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", "poison")
	o.AwaitOrder(t, "settled/poison")
	require.Equal(t, "4", o.Text(t, `select amount from shop.orders where id = 'run/poison/crash'`), "four runs")
	require.Equal(t, 4, f.living(t), "four deaths")
	for _, id := range neighbours {
		o.AwaitStatus(t, "SUCCESS", id)
		require.Equal(t, "t", o.Text(t, `select case when recovery_attempts <= 3 then 't' else recovery_attempts::text end from dbos.workflow_status where workflow_uuid = $1`, id))
		require.Equal(t, "0", o.Text(t, `select amount from shop.orders where id = 'shipped/' || $1::text`, id), "one effect")
	}
	for _, id := range about("after", 4) {
		harness.Submit(t, d, "orders", "shop.sleep", id)
		o.AwaitStatus(t, "SUCCESS", id)
	}
	require.Equal(t, 1, count(f.workers, "workflow_recovery_exhausted", "attempts_exhausted"))
	require.Equal(t, 1, count(f.workers, "executor_recovery", "settled"))
	require.Positive(t, count(f.workers, "workflow_recovery_warning", "last_attempt"))
	require.Equal(t, "1", o.Text(t, `select amount from shop.orders where id = 'settled/poison'`), "settled once")
	require.Equal(t, "t", o.Text(t, `select case when signalled_at is not null and settled_at is not null then 't' end from workflow_coordination.quarantine where workflow_id = 'poison'`))
	for _, w := range f.workers {
		if w.Running() {
			w.MustStopCleanly(t)
		}
	}
}
