package verdict_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/demo/evidence/evidencetest"
	"github.com/kesita/platform/worker/demo/verdict"
	"github.com/kesita/platform/worker/provider"
)

func TestARunWithoutFaultsKeepsEveryRule(t *testing.T) {
	t.Parallel()
	results := verdict.Judge(evidencetest.Run())
	for _, r := range results {
		require.True(t, r.Held, "%s: %v", r.Rule, r.Faults)
	}
	require.True(t, verdict.Held(results))
}

func TestEveryRuleCanBeBroken(t *testing.T) {
	t.Parallel()
	const (
		middle      = "each replica was killed in the middle of its work"
		lease       = "each lost lease was revoked by a peer"
		takeover    = "each interrupted workflow was taken over once and finished by a peer"
		checkpoints = "no checkpoint was lost or made again"
		once        = "every job is there once and has an end"
		claims      = "no workflow ran more often than its takeovers explain"
		failures    = "nothing failed but documents that cannot be read"
		published   = "every finished task published one revision"
		executed    = "the provider executed every request once"
		passages    = "no passage is indexed twice or missing"
		processes   = "no other process ended"
		search      = "the search finds what was indexed"
	)
	type run = evidence.Evidence
	for name, test := range map[string]struct {
		rule   string
		change func(e *run)
	}{
		"nobody was killed":                      {middle, func(e *run) { e.Services[0].Kill.Replica = "" }},
		"it was killed while it was idle":        {middle, func(e *run) { e.Services[0].Kill.Held = nil }},
		"it was killed before any checkpoint":    {middle, func(e *run) { e.Services[1].Kill.Held[0].Checkpoints = nil }},
		"it was killed after the last step":      {middle, func(e *run) { e.Services[0].Kill.Held[0].Checkpoints[0].Name = "settle" }},
		"it was killed after its work":           {middle, func(e *run) { e.Services[1].Kill.Held[0].State = journal.Succeeded }},
		"the lost lease is still active":         {lease, func(e *run) { e.Services[0].Executors[0].State = "active" }},
		"the lost lease is not there":            {lease, func(e *run) { e.Services[0].Executors = e.Services[0].Executors[1:] }},
		"the lost worker revoked itself":         {lease, func(e *run) { e.Services[0].Executors[0].RevokedBy = "product-lost" }},
		"the lease was revoked too early":        {lease, func(e *run) { e.Services[0].Executors[0].RevokedAt = evidencetest.At(7100) }},
		"the work was not taken over":            {takeover, func(e *run) { e.Services[0].Takeovers = nil }},
		"the work was taken over twice":          {takeover, func(e *run) { twice(&e.Services[1].Takeovers) }},
		"the work was quarantined":               {takeover, func(e *run) { e.Services[1].Takeovers[0].Action = "quarantined" }},
		"nobody claimed it again":                {takeover, func(e *run) { e.Services[0].Histories[0].ExecutorID = "product-lost" }},
		"the interrupted workflow does not end":  {takeover, func(e *run) { e.Services[0].Histories[0].State = journal.Claimed }},
		"the interrupted workflow is gone":       {takeover, func(e *run) { e.Services[0].Histories = e.Services[0].Histories[1:] }},
		"a checkpoint is gone":                   {checkpoints, func(e *run) { e.Services[0].Histories[0].Checkpoints = nil }},
		"a checkpoint was made again":            {checkpoints, func(e *run) { e.Services[0].Histories[0].Checkpoints[0].CompletedAt = evidencetest.At(7700) }},
		"a checkpoint has another name":          {checkpoints, func(e *run) { e.Services[0].Histories[0].Checkpoints[0].Name = "other" }},
		"nothing was submitted":                  {once, func(e *run) { e.Services[1].Items = nil }},
		"a job is lost":                          {once, func(e *run) { e.Services[1].Items[1].Rows = 0 }},
		"a job is there twice":                   {once, func(e *run) { e.Services[1].Items[1].Rows = 2 }},
		"a job came from nowhere":                {once, func(e *run) { e.Services[0].Extra = []string{"other"} }},
		"a workflow is lost":                     {once, func(e *run) { e.Services[0].Histories = e.Services[0].Histories[:1] }},
		"a workflow is not finished":             {once, func(e *run) { e.Services[0].Histories[1].State = journal.Waiting }},
		"a task is not settled":                  {once, func(e *run) { e.Services[0].Items[1].Settled = false }},
		"a stop in order is no reason to run":    {claims, func(e *run) { e.Services[0].Takeovers[0].Cause = "released" }},
		"a workflow ran for no reason":           {claims, func(e *run) { e.Services[0].Histories[1].Claims = 2 }},
		"a task failed":                          {failures, func(e *run) { e.Services[0].Items[1].Failure = "unknown_outcome" }},
		"a job failed that could have been done": {failures, func(e *run) { e.Services[1].Items[2].Refused = false }},
		"a task published twice":                 {published, func(e *run) { e.Services[0].Items[0].Published = 2 }},
		"a finished task published nothing":      {published, func(e *run) { e.Services[0].Items[1].Published = 0 }},
		"a refused document was indexed":         {published, func(e *run) { e.Services[1].Items[2].Published = 1 }},
		"a request was executed twice":           {executed, func(e *run) { e.Executions["key-lost"] = provider.JournalCount{Executed: 2} }},
		"a finished task asked nobody":           {executed, func(e *run) { delete(e.Executions, "key-calm") }},
		"somebody else asked the provider":       {executed, func(e *run) { e.Executions["key-other"] = provider.JournalCount{Executed: 1} }},
		"a passage is there twice":               {passages, func(e *run) { e.Services[1].Items[0].Doubled = 1 }},
		"a passage is missing":                   {passages, func(e *run) { e.Services[1].Items[0].Missing = 1 }},
		"no passage is there":                    {passages, func(e *run) { e.Services[1].Items[0].Parts, e.Services[1].Items[1].Parts = 0, 0 }},
		"another replica ended":                  {processes, func(e *run) { e.Ended = []string{"product-2"} }},
		"nothing is found":                       {search, func(e *run) { e.Search.Hits = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evidencetest.Run()
			test.change(&e)
			results := verdict.Judge(e)
			require.False(t, verdict.Held(results))
			var broken []string
			for _, r := range results {
				require.Equal(t, r.Held, len(r.Faults) == 0)
				if !r.Held {
					broken = append(broken, r.Rule)
				}
			}
			require.Contains(t, broken, test.rule)
		})
	}
}

func twice[E any](list *[]E) { *list = append(*list, *list...) }
