// Package evidencetest owns one small run in which everything went as it should, for tests that change one thing.
//
// It is made up, in the shape that the databases give. Nothing here is read from anywhere, so it cannot fail.
package evidencetest

import (
	"time"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/provider"
)

// Killed is when the replicas were killed.
func Killed() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

// At is a moment, in milliseconds after the kill.
func At(ms int) time.Time { return Killed().Add(time.Duration(ms) * time.Millisecond) }

// Run is a fresh run: each service has a document that its killed replica was working on, and one that its peer
// finished undisturbed; the corpus also refused a picture.
func Run() evidence.Evidence {
	product := service("product", "key-")
	corpus := service("corpus", "")
	for i := range corpus.Items {
		corpus.Items[i].Parts = 3
	}
	corpus.Items = append(corpus.Items, evidence.Item{
		Document: "picture.png", WorkflowID: "corpus/picture", Rows: 1, State: "failed", Failure: "document_is_binary",
		Settled: true, Refused: true, Runs: 1,
	})
	corpus.Histories = append(corpus.Histories, journal.History{
		WorkflowID: "corpus/picture", State: journal.Failed, ExecutorID: "corpus-peer", Claims: 1,
		SubmittedAt: At(-900), ClaimedAt: At(-700), FinishedAt: At(-600),
	})
	return evidence.Evidence{
		Services:   []evidence.Service{product, corpus},
		Executions: map[string]provider.JournalCount{"key-lost": {Executed: 1, Replayed: 1}, "key-calm": {Executed: 1}},
		Search:     evidence.Search{Query: "light", Hits: []evidence.Hit{{Document: "calm.txt", Snippet: "rays of «light»"}}},
	}
}

func service(name, key string) evidence.Service {
	id := func(part string) string { return name + "/" + part }
	lost, peer := name+"-lost", name+"-peer"
	first := journal.Checkpoint{Number: 0, Name: "load", StartedAt: At(-600), CompletedAt: At(-500)}
	second := journal.Checkpoint{Number: 1, Name: "work", StartedAt: At(7600), CompletedAt: At(7900)}
	s := evidence.Service{
		Name: name,
		Items: []evidence.Item{
			{Document: "lost.txt", WorkflowID: id("lost"), Rows: 1, State: "done", Settled: true, Runs: 1, Published: 1},
			{Document: "calm.txt", WorkflowID: id("calm"), Rows: 1, State: "done", Settled: true, Runs: 1, Published: 1},
		},
		Histories: []journal.History{
			{
				WorkflowID: id("lost"), State: journal.Succeeded, ExecutorID: peer, Claims: 2, SubmittedAt: At(-1000),
				ClaimedAt: At(7500), FinishedAt: At(8000), Checkpoints: []journal.Checkpoint{first, second},
			},
			{
				WorkflowID: id("calm"), State: journal.Succeeded, ExecutorID: peer, Claims: 1, SubmittedAt: At(-1000),
				ClaimedAt: At(-800), FinishedAt: At(100), Checkpoints: []journal.Checkpoint{first, second},
			},
		},
		Executors: []evidence.Executor{
			{ID: lost, Replica: name + "-1", State: "revoked", HeartbeatAt: At(-300), ExpireAt: At(7200), RevokedAt: At(7400), RevokedBy: peer},
			{ID: peer, Replica: name + "-2", State: "active", HeartbeatAt: At(8000), ExpireAt: At(15500)},
		},
		Takeovers: []evidence.Takeover{
			{WorkflowID: id("lost"), Lost: lost, Scanner: peer, Cause: "expired", Action: "reenqueued", Attempts: 1, Checkpoints: 1, At: At(7401)},
		},
		Kill: evidence.Kill{Replica: name + "-1", ExecutorID: lost, PID: 4711, At: Killed(), Held: []journal.History{
			{
				WorkflowID: id("lost"), State: journal.Claimed, ExecutorID: lost, Claims: 1, SubmittedAt: At(-1000),
				ClaimedAt: At(-800), Checkpoints: []journal.Checkpoint{first},
			},
		}},
	}
	if key != "" {
		s.Items[0].Key, s.Items[1].Key = key+"lost", key+"calm"
	}
	return s
}
