package failure_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// F7: a worker that is frozen in front of a call and thaws after a peer took its work over sends nothing; the peer's
// call is the only one.
func TestAWorkerThatThawsAfterItsLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	var mu sync.Mutex
	senders := []string{}
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		senders = append(senders, r.Header.Get("Executor"))
	}))
	t.Cleanup(provider.Close)
	first := harness.Start(t, environment(d))
	lost := first.AwaitReady(t)
	call := provider.URL + "/order"
	harness.Submit(t, d, "orders", "shop.call", call)
	o.AwaitOrder(t, "run/"+call+"/call")
	first.Pause(t)
	second := harness.Start(t, environment(d))
	heir := second.AwaitReady(t)
	o.Await(t, heir, `select executor_id from dbos.workflow_status where workflow_uuid = $1`, call)
	require.Equal(t, "revoked", o.Lease(t, lost))
	o.Open(t, call)
	first.Resume(t)
	require.Equal(t, boot.ExitRestart, first.ExitCode(t))
	o.AwaitStatus(t, "SUCCESS", call)
	second.MustStopCleanly(t)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{heir}, senders)
}
