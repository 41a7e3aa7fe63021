package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence/evidencetest"
	"github.com/kesita/platform/worker/demo/timeline"
)

func TestAStoryHasEveryStationInOrderRelativeToTheKill(t *testing.T) {
	t.Parallel()
	stories := timeline.Tell(evidencetest.Run().Services[1])
	require.Len(t, stories, 1)
	story := stories[0]
	require.Equal(t, "corpus", story.Service)
	require.Equal(t, "lost.txt", story.Document)

	type station struct {
		Seconds float64
		Kind    timeline.Kind
		Who     string
		Detail  string
	}
	var seen []station
	for _, e := range story.Events {
		seen = append(seen, station{e.Seconds, e.Kind, e.Who, e.Detail})
	}
	require.Equal(t, []station{
		{-1, timeline.Submitted, "", "lost.txt"},
		{-0.8, timeline.Claimed, "corpus-1", "execution 1"},
		{-0.5, timeline.Checkpoint, "corpus-1", "1 (load)"},
		{0, timeline.Killed, "corpus-1", "SIGKILL, pid 4711; step 2 was under way"},
		{7.2, timeline.Expired, "corpus-1", "renewed for the last time at -0.30 s"},
		{7.4, timeline.Revoked, "corpus-2", "lease of corpus-1"},
		{7.401, timeline.Reenqueued, "corpus-2", "with 1 checkpoint"},
		{7.5, timeline.Resumed, "corpus-2", "after checkpoint 1 (load), execution 2"},
		{7.9, timeline.Checkpoint, "corpus-2", "2 (work)"},
		{8, timeline.Finished, "corpus-2", "succeeded"},
	}, seen)
}

func TestAStoryDoesNotTellWhatDidNotHappen(t *testing.T) {
	t.Parallel()
	s := evidencetest.Run().Services[0]
	s.Takeovers = nil
	s.Histories[0] = s.Kill.Held[0] // still claimed by the killed replica
	s.Executors[0].State, s.Executors[0].RevokedBy = "active", ""
	s.Executors[0].RevokedAt = s.Kill.Held[0].FinishedAt // zero

	story := timeline.Tell(s)[0]
	for _, kind := range []timeline.Kind{timeline.Revoked, timeline.Reenqueued, timeline.Resumed, timeline.Finished} {
		_, told := story.Find(kind)
		require.False(t, told, kind)
	}
	_, told := story.Find(timeline.Killed)
	require.True(t, told)
}

func TestAWorkflowWithoutCheckpointsResumesFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := evidencetest.Run().Services[0]
	s.Kill.Held[0].Checkpoints = []journal.Checkpoint{}
	resumed, told := timeline.Tell(s)[0].Find(timeline.Resumed)
	require.True(t, told)
	require.Equal(t, "from the beginning, execution 2", resumed.Detail)
}
