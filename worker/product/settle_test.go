package product_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/product/producttest"
	"github.com/kesita/platform/worker/product/task"
)

// P2, P3: the real worker fails the task of a workflow that lost its last
// allowed worker, with a closed reason and without asking the provider, and
// signals the loss once.
func TestARealWorkerFailsTheTaskOfAnExhaustedWorkflow(t *testing.T) {
	t.Parallel()
	s := producttest.Deploy(t)
	made := submitted(t, s)
	_, err := s.Exec(t.Context(), `update dbos.workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', recovery_attempts = 4, queue_name = null
		where workflow_uuid = $1`, made.WorkflowID)
	require.NoError(t, err)
	w := worker(t, s, "PROVIDER_URL=http://127.0.0.1:1")
	require.Eventually(t, func() bool { return strings.Contains(w.stdout.String(), `"reason":"settled"`) }, patience, poll)
	require.Equal(t, 1, strings.Count(w.stdout.String(), `"operation":"workflow_recovery_exhausted"`))
	var state, code string
	var sends int
	require.NoError(t, s.QueryRow(t.Context(), `select t.state, t.failure_code, (select count(*) from product.run r where r.task_id = t.task_id)
		from product.task t where t.task_id = $1`, made.TaskID).Scan(&state, &code, &sends))
	require.Equal(t, []any{"failed", string(task.AttemptsExhausted), 0}, []any{state, code, sends})
}
