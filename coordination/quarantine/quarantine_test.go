package quarantine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// paper is a quarantine on paper.
type paper struct {
	unsignalled []journal.Exhausted
	due         []string
	err         error
	settlements []journal.Settlement
	pauses      []time.Duration
}

func (p *paper) Adopt(context.Context) (int, error) { return 0, p.err }

func (p *paper) Signal(_ context.Context, tell func(journal.Exhausted)) (int, error) {
	list := p.unsignalled
	p.unsignalled = nil
	for _, q := range list {
		tell(q)
	}
	return len(list), nil
}

func (p *paper) Settle(ctx context.Context, settle func(context.Context, string, string) error, retry func(int) time.Duration) (journal.Settlement, error) {
	if len(p.due) == 0 {
		return journal.Settlement{}, nil
	}
	done := journal.Settlement{WorkflowID: p.due[0], Due: true}
	p.due = p.due[1:]
	done.Failure = settle(ctx, done.WorkflowID, "shop.order")
	if done.Failure != nil {
		failures := 1
		for _, s := range p.settlements {
			if s.WorkflowID == done.WorkflowID && s.Failure != nil {
				failures++
			}
		}
		p.pauses = append(p.pauses, retry(failures))
	}
	p.settlements = append(p.settlements, done)
	return done, nil
}

func settler(p *paper, hook quarantine.Hook) (*quarantine.Settler, *bytes.Buffer) {
	lines := &bytes.Buffer{}
	return quarantine.New(quarantine.Config{
		Journal: p, Hook: hook, Timing: timing.Production(), Log: signal.New(signal.JSON(lines, slog.LevelDebug)),
	}), lines
}

func run(t *testing.T, s *quarantine.Settler) quarantine.Result {
	t.Helper()
	r, err := s.RunOnce(t.Context())
	require.NoError(t, err)
	return r
}

// lines are what a settler said, as "level operation reason workflow".
func said(t *testing.T, lines *bytes.Buffer) (list []string) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
	for decoder.More() {
		var line struct {
			Level, Operation, Reason string
			WorkflowID               string `json:"workflow_id"`
		}
		require.NoError(t, decoder.Decode(&line))
		list = append(list, line.Level+" "+line.Operation+" "+line.Reason+" "+line.WorkflowID)
	}
	return list
}

// P2: the line names the workflow and how it was lost, and nothing of what was in it.
func TestAQuarantinedWorkflowIsSignalledWithItsReason(t *testing.T) {
	t.Parallel()
	lost := uuid.New()
	p := &paper{unsignalled: []journal.Exhausted{
		{WorkflowID: "a", WorkflowName: "shop.order", Attempts: 4, Reason: "attempts_exhausted", LostExecutor: lost},
		{WorkflowID: "b", WorkflowName: "shop.order", Attempts: 1, Reason: "claim_ceiling", LostExecutor: lost},
	}}
	s, lines := settler(p, nil)
	require.Equal(t, quarantine.Result{Signalled: 2}, run(t, s))
	require.Equal(t, []string{
		"ERROR workflow_recovery_exhausted attempts_exhausted a", "ERROR workflow_recovery_exhausted claim_ceiling b",
	}, said(t, lines))
	require.Contains(t, lines.String(), `"workflow_name":"shop.order","attempts":4,"lost_executor_id":"`+lost.String()+`"`)
}

// P4: a service without a hook leaves its workflows to an operator.
func TestWithoutAHookNothingIsSettled(t *testing.T) {
	t.Parallel()
	p := &paper{due: []string{"a"}, unsignalled: []journal.Exhausted{{WorkflowID: "a"}}}
	s, _ := settler(p, nil)
	require.Equal(t, quarantine.Result{Signalled: 1}, run(t, s))
	require.Equal(t, []string{"a"}, p.due)
}

// P3: an error and a panic are failures that are signalled; each delays no other, and what a panic says stays out.
func TestAFailedSettlementIsSignalledAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	p := &paper{due: []string{"fails", "panics", "settles"}}
	s, lines := settler(p, func(_ context.Context, id, name string) error {
		require.Equal(t, "shop.order", name)
		switch id {
		case "fails":
			return errors.New("no such task")
		case "panics":
			panic("the input is 4711")
		}
		return nil
	})
	require.Equal(t, quarantine.Result{Settled: 1, Failed: 2}, run(t, s))
	require.Equal(t, []string{
		"ERROR workflow_recovery_settlement settlement_failed fails", "ERROR workflow_recovery_settlement settlement_failed panics",
		"INFO executor_recovery settled settles",
	}, said(t, lines))
	require.NotContains(t, lines.String(), "4711")
	require.ErrorIs(t, p.settlements[1].Failure, quarantine.ErrHookPanicked)
}

// P3: tried again for ever, with pauses that grow from two scans to the watchdog's time.
func TestThePauseAfterAFailureGrows(t *testing.T) {
	t.Parallel()
	p := &paper{}
	s, _ := settler(p, func(context.Context, string, string) error { return errors.New("no such task") })
	for range 6 {
		p.due = []string{"a"}
		run(t, s)
	}
	require.Equal(t, []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 45 * time.Second, 45 * time.Second, 45 * time.Second,
	}, p.pauses)
}

// K4: the lock on the workflow is a transaction that idles while the hook runs.
func TestAHookHasHalfTheTimeThatATransactionMayIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paper{due: []string{"slow", "next"}}
		began := time.Now()
		s, lines := settler(p, func(ctx context.Context, id, _ string) error {
			if id == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		require.Equal(t, quarantine.Result{Settled: 1, Failed: 1}, run(t, s))
		require.Equal(t, 5*time.Second, time.Since(began))
		require.ErrorIs(t, p.settlements[0].Failure, quarantine.ErrHookSlow)
		require.Contains(t, lines.String(), "settlement hook took too long")
	})
}

// A hook that hears no cancellation is left behind once, not once a pass, and holds up no signal.
func TestAHookThatHearsNothingHoldsUpNoSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		p := &paper{due: []string{"deaf", "next"}}
		s, lines := settler(p, func(_ context.Context, id, _ string) error {
			if id == "deaf" {
				<-released
			}
			return nil
		})
		require.Equal(t, quarantine.Result{Failed: 1}, run(t, s))
		p.unsignalled = []journal.Exhausted{{WorkflowID: "new", Reason: "attempts_exhausted"}}
		require.Equal(t, quarantine.Result{Signalled: 1}, run(t, s))
		require.Equal(t, []string{
			"ERROR workflow_recovery_settlement settlement_failed deaf", "ERROR workflow_recovery_exhausted attempts_exhausted new",
		}, said(t, lines))
		close(released)
		synctest.Wait()
		require.Equal(t, quarantine.Result{Settled: 1}, run(t, s))
	})
}

// A pass with much to settle ends in time for the next one's signals.
func TestAPassEndsWithTheScanPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paper{}
		for i := range 100 {
			p.due = append(p.due, fmt.Sprint(i))
		}
		s, _ := settler(p, func(context.Context, string, string) error {
			<-time.After(time.Second)
			return nil
		})
		require.Equal(t, quarantine.Result{Settled: 6}, run(t, s))
	})
}

// The stop of the process is no failure of a settlement.
func TestAStoppedSettlementIsNoFailure(t *testing.T) {
	t.Parallel()
	p := &paper{due: []string{"a"}}
	ctx, cancel := context.WithCancel(t.Context())
	s, lines := settler(p, func(ctx context.Context, _, _ string) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	_, err := s.RunOnce(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, lines.String())
}

func TestAPassThatCannotAskTheJournalIsAFailedScan(t *testing.T) {
	t.Parallel()
	p := &paper{due: []string{"a"}, err: errors.New("no answer")}
	s, lines := settler(p, func(context.Context, string, string) error { return nil })
	_, err := s.RunOnce(t.Context())
	require.ErrorIs(t, err, p.err)
	require.Equal(t, []string{"WARN executor_recovery scan_failed "}, said(t, lines))
}
