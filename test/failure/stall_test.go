package failure_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// V4, D5: one business queue of one process stands still - its claims fail, or are retried without an end, or contend
// without an end - while its probe, its renewals and its other queue are well. The process ends with the status that asks
// for a fresh one, names the queue, what waits in it, what it had room for and for how long; and the fresh one listens
// again.
func TestAStalledQueueEndsItsProcessAndAFreshOneListensAgain(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"WhenItsClaimsFail":              "57014",
		"WhenItsClaimsAreRetriedForEver": "08006",
		"WhenItsClaimsContendForEver":    "55P03",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			stalled := harness.Start(t, environment(d, "QUEUE_CONCURRENCY=5"))
			executor := stalled.AwaitReady(t)
			harness.Inject(t, d, harness.Fault{
				Table: "dbos.workflow_status", On: "update", Code: code,
				When: "new.queue_name = 'orders' and new.status = 'PENDING' and new.executor_id = '" + executor + "'",
			})
			for _, id := range about("stuck", 3) {
				harness.Submit(t, d, "orders", "shop.parent", id)
			}
			harness.Submit(t, d, "children", "shop.sleep", "well")
			o.AwaitStatus(t, "SUCCESS", "well")
			require.Equal(t, boot.ExitRestart, stalled.ExitCode(t))

			var said struct {
				Queue    string
				Backlog  int
				Capacity int
				Since    int64 `json:"since_last_claim_ms"`
			}
			line := stalled.AwaitLine(t, "executor_watchdog", "queue_stalled")
			require.NoError(t, json.Unmarshal([]byte(line.Text), &said))
			require.Equal(t, []any{"orders", 3, 5}, []any{said.Queue, said.Backlog, said.Capacity})
			require.Greater(t, said.Since, pace().BacklogStall(0).Milliseconds())
			require.Equal(t, 1, count([]*harness.Worker{stalled}, "executor_watchdog", "queue_stalled"))
			require.Zero(t, count([]*harness.Worker{stalled}, "executor_watchdog", "probe_stalled"))

			fresh := harness.Start(t, environment(d))
			fresh.AwaitReady(t)
			for _, id := range about("stuck", 3) {
				o.AwaitStatus(t, "SUCCESS", id)
			}
			fresh.MustStopCleanly(t)
		})
	}
}

// D5, T4: the SDK's own queue, where recovered direct workflows wait, is watched like any other, although no table lists it.
func TestAStalledInternalQueueEndsItsProcessToo(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	stalled := harness.Start(t, environment(d))
	executor := stalled.AwaitReady(t)
	harness.Inject(t, d, harness.Fault{
		Table: "dbos.workflow_status", On: "update", Code: "57014",
		When: "new.queue_name = '" + journal.InternalQueue + "' and new.status = 'PENDING' and new.executor_id = '" + executor + "'",
	})
	harness.Submit(t, d, "nobody", "shop.parent", "direct")
	o.Exec(t, `update dbos.workflow_status set queue_name = $1 where workflow_uuid = 'direct'`, journal.InternalQueue)
	require.Equal(t, boot.ExitRestart, stalled.ExitCode(t))
	line := stalled.AwaitLine(t, "executor_watchdog", "queue_stalled").Text
	require.Contains(t, line, `"queue":"`+journal.InternalQueue+`","backlog":1`)
	require.NotContains(t, line, `"capacity"`, "it has no limit")
	fresh := harness.Start(t, environment(d))
	fresh.AwaitReady(t)
	o.AwaitStatus(t, "SUCCESS", "direct")
	fresh.MustStopCleanly(t)
}

// D5, D12: a queue whose capacity is taken, whose rate is used up, whose work is delayed or for another version, waits for
// longer than any budget, and nobody ends.
func TestAQueueThatMustWaitEndsNobody(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(t *testing.T, d *fixture.Database, o *harness.Observer){
		"ForCapacity": func(t *testing.T, d *fixture.Database, o *harness.Observer) {
			for _, id := range about("order", 6) {
				harness.Submit(t, d, "orders", "shop.order", id) // none of their gates opens
			}
			o.Await(t, "4", `select count(*) from dbos.workflow_status where status = 'PENDING' and queue_name = 'orders'`)
		},
		"ForItsRate": func(t *testing.T, d *fixture.Database, o *harness.Observer) {
			o.Exec(t, `update dbos.queues set rate_limit_max = 1, rate_limit_period_sec = 3600 where name = 'orders'`)
			// The SDK looks at its queues once a second: the first claim that counts uses the rate up.
			for i := 0; o.Text(t, `select count(*) from dbos.workflow_status where rate_limited`) == "0"; i++ {
				id := fmt.Sprint("first", i)
				harness.Submit(t, d, "orders", "shop.parent", id)
				o.AwaitStatus(t, "SUCCESS", id)
			}
			harness.Submit(t, d, "orders", "shop.sleep", "second")
		},
		"ForTimeAndForAnotherVersion": func(t *testing.T, d *fixture.Database, o *harness.Observer) {
			for _, id := range []string{"delayed", "foreign"} {
				harness.Submit(t, d, "nobody", "shop.sleep", id)
			}
			o.Exec(t, `update dbos.workflow_status set queue_name = 'orders', status = 'DELAYED',
				delay_until_epoch_ms = extract(epoch from now() + interval '1 hour') * 1000 where workflow_uuid = 'delayed'`)
			o.Exec(t, `update dbos.workflow_status set queue_name = 'orders', application_version = 'kesita-shop-v2' where workflow_uuid = 'foreign'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			w := harness.Start(t, environment(d, "QUEUE_CONCURRENCY=4"))
			w.AwaitReady(t)
			wait(t, d, o)
			workers := []*harness.Worker{w}
			seen := count(workers, "executor_coordination", "lease_active")
			// Four summaries later more than the budget has gone by.
			require.Greater(t, 3*pace().Summary, pace().BacklogStall(0)+2*pace().Monitor)
			harness.Await(t, "the worker lived on for longer than the budget", func() bool {
				return !w.Running() || count(workers, "executor_coordination", "lease_active") >= seen+4
			})
			require.Zero(t, count(workers, "executor_watchdog", "queue_stalled"))
			require.NotEqual(t, "0", o.Text(t, `select count(*) from dbos.workflow_status where queue_name = 'orders' and status in ('ENQUEUED', 'DELAYED')`))
			require.True(t, w.Running())
			w.MustStopCleanly(t)
		})
	}
}
