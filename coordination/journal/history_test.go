package journal_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }

const queue = "orders"

// O3: what happened to a workflow can be read from the owning database, step by step, without its data.
func TestAHistoryTellsStatesClaimsAndCheckpoints(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	pace := coordination.ProductionTiming() // a short lease would end the whole test binary on a busy machine
	pace.QueuePoll = fixture.Timing().QueuePoll
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: pace,
		Environ: []string{},
	})
	require.NoError(t, err)
	workflow.Register(rt, "shop.order", func(ctx workflow.Context, refuse bool) (string, error) {
		if _, err := workflow.RunStep(ctx, "reserve", step(nil)); err != nil {
			return "", err
		}
		if refuse {
			return workflow.RunStep(ctx, "refuse", step(errors.New("sold out")))
		}
		return workflow.RunStep(ctx, "ship", step(nil))
	})
	require.NoError(t, rt.AddQueue(coordination.Queue{Name: queue, Concurrency: 2}))
	require.NoError(t, rt.Launch(t.Context()))
	t.Cleanup(func() { require.NoError(t, rt.Shutdown(context.Background())) })
	enqueue(t, d, queue, "good", false)
	enqueue(t, d, queue, "bad", true)
	enqueue(t, d, "nobody-serves-this", "idle", false)

	reader := d.Connect(t, d.ReaderURL)
	histories := func() map[string]journal.History {
		list, err := journal.Histories(t.Context(), reader, []string{"good", "bad", "idle", "missing"})
		require.NoError(t, err)
		byID := map[string]journal.History{}
		for _, h := range list {
			byID[h.WorkflowID] = h
		}
		return byID
	}
	require.Eventually(t, func() bool {
		seen := histories()
		return seen["good"].State.Terminal() && seen["bad"].State.Terminal()
	}, time.Minute, 20*time.Millisecond)

	seen := histories()
	require.Len(t, seen, 3)
	good, bad, idle := seen["good"], seen["bad"], seen["idle"]
	require.Equal(t, journal.Succeeded, good.State)
	require.Equal(t, "shop.order", good.Name)
	require.Equal(t, queue, good.Queue)
	require.Equal(t, rt.ExecutorID().String(), good.ExecutorID)
	require.Equal(t, 1, good.Claims)
	require.Equal(t, []string{"reserve", "ship"}, names(good))
	require.False(t, good.ClaimedAt.Before(good.SubmittedAt.Truncate(time.Millisecond)))
	require.False(t, good.FinishedAt.Before(good.Checkpoints[1].CompletedAt.Truncate(time.Millisecond)))
	require.Equal(t, journal.Failed, bad.State)
	require.Equal(t, []string{"reserve", "refuse"}, names(bad))
	require.Equal(t, journal.Waiting, idle.State)
	require.True(t, idle.ClaimedAt.IsZero())
	require.True(t, idle.FinishedAt.IsZero())
	require.Empty(t, idle.Checkpoints)
}

func enqueue(t *testing.T, d *fixture.Database, queue, id string, refuse bool) {
	t.Helper()
	client, err := submit.Open(t.Context(), d.APIURL, fixture.Application, fixture.Version)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	require.NoError(t, pgx.BeginFunc(t.Context(), d.Connect(t, d.APIURL), func(tx pgx.Tx) error {
		return client.Submit(t.Context(), tx, submit.Request{Queue: queue, Workflow: "shop.order", ID: id, Input: refuse})
	}))
}

func step(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "done", err }
}

func names(h journal.History) []string {
	list := []string{}
	for _, c := range h.Checkpoints {
		list = append(list, c.Name)
	}
	return list
}
