package corpus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
)

// P2, P3: the real worker fails the job of a workflow that lost its last allowed worker, with a reason of the closed
// list, without reading the source, and signals the loss once.
func TestARealWorkerFailsTheJobOfAnExhaustedWorkflow(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	made := submitted(t, s, corpus.Request{Source: t.TempDir()})
	_, err := s.Exec(t.Context(), `update dbos.workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', recovery_attempts = 4, queue_name = null
		where workflow_uuid = $1`, made.WorkflowID)
	require.NoError(t, err)
	w := replica(t, s)
	var job index.Job
	require.Eventually(t, func() bool { job = s.Job(t, made.JobID); return job.Finished() }, patience, poll)
	require.Equal(t, index.Failed, job.State)
	require.Equal(t, refusal.Exhausted, job.FailureCode)
	require.Nil(t, job.StartedAt, "it was not run")
	require.Eventually(t, func() bool { return strings.Contains(w.output.String(), `"reason":"settled"`) }, patience, poll)
	require.Equal(t, 1, strings.Count(w.output.String(), `"operation":"workflow_recovery_exhausted"`))
}
