package coordination_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// giveUp has the SDK itself give a workflow up: its claim is one too many.
func giveUp(t *testing.T, d *fixture.Database, o *harness.Observer, id string) {
	t.Helper()
	harness.Submit(t, d, "later", "shop.order", id)
	o.Exec(t, `update dbos.workflow_status set recovery_attempts = 4, queue_name = $2 where workflow_uuid = $1`, id, orders)
	o.AwaitStatus(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", id)
}

// P2, P3: what the SDK gave up is adopted, signalled once by all replicas together, and settled once. A settlement that
// fails is signalled each time and tried again until it succeeds; it never runs the workflow.
func TestWhatTheSDKGaveUpIsSignalledOnceAndSettled(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	var calls atomic.Int64
	crew := []*replica{}
	for range 3 {
		r := open(t, config(d))
		single(r)
		r.SettleWith(func(ctx context.Context, id, name string) error {
			if calls.Add(1) <= 2 {
				return errors.New("the task is locked")
			}
			return r.write(ctx, "settled/"+name+"/"+id)
		})
		require.NoError(t, r.Launch(t.Context()))
		crew = append(crew, r)
	}
	giveUp(t, d, o, "a")
	o.AwaitOrder(t, "settled/shop.order/a")
	o.Await(t, "true", `select settled_at is not null from workflow_coordination.quarantine where workflow_id = 'a'`)
	require.EqualValues(t, 3, calls.Load())
	signalled, failed := 0, 0
	for _, r := range crew {
		require.NoError(t, r.stop(t.Context()))
		signalled += r.log.count(signal.RecoveryExhausted, signal.AttemptsExhausted)
		failed += r.log.count(signal.Settlement, signal.SettlementFailed)
	}
	require.Equal(t, []int{1, 2}, []int{signalled, failed})
	require.Equal(t, "0", o.Text(t, `select count(*) from shop.orders where id = 'a'`), "it was not run")
	require.Equal(t, "MAX_RECOVERY_ATTEMPTS_EXCEEDED", o.Status(t, "a"))
}

// P4: without a hook it is signalled and stays for an operator.
func TestWithoutAHookAWorkflowStaysQuarantined(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	r := launch(t, config(d), single)
	giveUp(t, d, o, "a")
	harness.Await(t, "it is signalled", func() bool { return r.log.count(signal.RecoveryExhausted, signal.AttemptsExhausted) == 1 })
	giveUp(t, d, o, "b")
	harness.Await(t, "a pass later, the next one is", func() bool { return r.log.count(signal.RecoveryExhausted, signal.AttemptsExhausted) == 2 })
	require.Equal(t, "2", o.Text(t, `select count(*) from workflow_coordination.quarantine where settled_at is null and settle_failures = 0`))
	require.NoError(t, r.stop(t.Context()))
}
