package recovery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/recovery"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// paper is a journal on paper: it lists what waits in order, deferred ones last, and recovers as told.
type paper struct {
	waiting []uuid.UUID
	err     error
	recover func(uuid.UUID) (journal.Recovery, error)
	tried   []uuid.UUID
}

func (p *paper) Candidates(_ context.Context, limit int, deferred []uuid.UUID) ([]journal.Candidate, error) {
	order := slices.Clone(p.waiting)
	slices.SortStableFunc(order, func(a, b uuid.UUID) int { return slices.Index(deferred, a) - slices.Index(deferred, b) })
	list := []journal.Candidate{}
	for _, id := range order[:min(limit, len(order))] {
		list = append(list, journal.Candidate{ExecutorID: id, State: "active"})
	}
	return list, p.err
}

func (p *paper) ReleaseSuspect(context.Context, time.Duration) (string, error) { return "", nil }

func (p *paper) Recover(_ context.Context, lost uuid.UUID) (journal.Recovery, error) {
	p.tried = append(p.tried, lost)
	r, err := p.recover(lost)
	if err == nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(id uuid.UUID) bool { return id == lost })
	}
	return r, err
}

func (p *paper) Locked(context.Context) ([]uuid.UUID, error) { return nil, nil }

func ids(count int) []uuid.UUID {
	list := make([]uuid.UUID, count)
	for i := range list {
		list[i] = uuid.New()
	}
	return list
}

// scan returns a scanner, the lines that it logs and the times at which its scans began.
func scan(j recovery.Journal) (scanner *recovery.Scanner, lines *bytes.Buffer, scanned *[]time.Time) {
	lines, scanned = &bytes.Buffer{}, &[]time.Time{}
	scanner = recovery.New(recovery.Config{
		Journal: j, Timing: timing.Production(), Log: signal.New(signal.JSON(lines, slog.LevelDebug)),
		EndSessions: func(context.Context, uuid.UUID) (int, error) { return 0, nil },
		Scanned:     func(began time.Time) { *scanned = append(*scanned, began) },
	})
	return scanner, lines, scanned
}

func records(t *testing.T, lines *bytes.Buffer) (list []map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
	for decoder.More() {
		var record map[string]any
		require.NoError(t, decoder.Decode(&record))
		list = append(list, record)
	}
	return list
}

var errStuck = &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "canceling statement due to lock timeout"}

// D3, K6: 250 executors fail each time and would fill each list of 100; the one behind them is reached all the same.
func TestExecutorsWhoseRecoveryFailsEachTimeDoNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	stuck, healthy := ids(250), uuid.New()
	p := &paper{waiting: append(slices.Clone(stuck), healthy), recover: func(id uuid.UUID) (journal.Recovery, error) {
		if id == healthy {
			return journal.Recovery{Outcome: "recovered", Cause: "expired", Reenqueued: 1}, nil
		}
		return journal.Recovery{}, errStuck
	}}
	scanner, _, scanned := scan(p)
	for range 3 {
		_, err := scanner.RunOnce(t.Context())
		require.NoError(t, err)
	}
	require.Contains(t, p.tried, healthy)
	require.Len(t, *scanned, 3)
	for range 6 {
		_, err := scanner.RunOnce(t.Context())
		require.NoError(t, err)
	}
	for _, id := range stuck {
		tries := 0
		for _, tried := range p.tried {
			if tried == id {
				tries++
			}
		}
		require.GreaterOrEqual(t, tries, 3, "nobody is given up")
	}
}

// K6: a new loss comes before old failures, however many those are.
func TestANewLossComesBeforeOldFailures(t *testing.T) {
	t.Parallel()
	p := &paper{waiting: ids(120), recover: func(uuid.UUID) (journal.Recovery, error) { return journal.Recovery{}, errStuck }}
	scanner, _, _ := scan(p)
	for range 2 {
		_, err := scanner.RunOnce(t.Context())
		require.NoError(t, err)
	}
	fresh := uuid.New()
	p.waiting, p.tried = append(p.waiting, fresh), nil
	_, err := scanner.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, fresh, p.tried[0])
}

// D6, K6: each failure waits two seconds for a lock. All hundred in one scan would look like a stalled scanner.
func TestAScanThatWaitsForLocksEndsInTimeAndCountsAsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := timing.Production()
		p := &paper{waiting: ids(100), recover: func(uuid.UUID) (journal.Recovery, error) {
			<-time.After(limits.RowLock)
			return journal.Recovery{}, errStuck
		}}
		scanner, _, scanned := scan(p)
		began := time.Now()
		result, err := scanner.RunOnce(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), limits.Scan+limits.RowLock)
		require.Equal(t, []time.Time{began}, *scanned)
		require.Equal(t, recovery.Result{Failed: 3, Left: 97}, result)
		_, err = scanner.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, p.waiting[:6], p.tried, "the rest comes first in the next scan")
	})
}

// K6, O1: the failure is reported with the executor it belongs to, and the others are recovered.
func TestAFailedRecoveryIsReportedAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	waiting := ids(3)
	p := &paper{waiting: slices.Clone(waiting), recover: func(id uuid.UUID) (journal.Recovery, error) {
		if id == waiting[0] {
			return journal.Recovery{}, errStuck
		}
		return journal.Recovery{Outcome: "recovered", Cause: "released", Reenqueued: 2, ProbesRemoved: 1}, nil
	}}
	scanner, lines, _ := scan(p)
	result, err := scanner.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, result.Executors)
	require.Equal(t, 4, result.Reenqueued)
	require.Equal(t, 1, result.Failed)
	list := records(t, lines)
	require.Len(t, list, 3)
	require.Equal(t, "executor_recovery", list[0]["operation"])
	require.Equal(t, "scan_failed", list[0]["reason"])
	require.Equal(t, waiting[0].String(), list[0]["lost_executor_id"])
	require.Contains(t, list[0]["fault"], "55P03")
	require.Equal(t, "peer_released", list[1]["reason"])
	require.Equal(t, waiting[1].String(), list[1]["lost_executor_id"])
	require.InDelta(t, 2, list[1]["reenqueued"], 0)
}

// A warning comes one attempt before quarantine, so that somebody can look before the work is lost.
func TestAWorkflowOnItsLastAttemptIsNamedInAWarning(t *testing.T) {
	t.Parallel()
	p := &paper{waiting: ids(1), recover: func(uuid.UUID) (journal.Recovery, error) {
		return journal.Recovery{Outcome: "recovered", Cause: "expired", Held: 1, LastChance: []string{"shaky-1"}}, nil
	}}
	scanner, lines, _ := scan(p)
	_, err := scanner.RunOnce(t.Context())
	require.NoError(t, err)
	named := []any{}
	for _, record := range records(t, lines) {
		if record["operation"] == "workflow_recovery_warning" {
			require.Equal(t, "WARN", record["level"])
			require.Equal(t, "last_attempt", record["reason"])
			named = append(named, record["workflow_id"])
		}
	}
	require.Equal(t, []any{"shaky-1"}, named)
}

// D6: a scan that could not be made is no progress.
func TestAScanThatFailsIsNoProgress(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*paper{
		"the list cannot be read": {err: errors.New("connection reset")},
		"the own lease is over": {waiting: ids(50), recover: func(uuid.UUID) (journal.Recovery, error) {
			return journal.Recovery{}, &pgconn.PgError{Code: "KF001"}
		}},
	} {
		scanner, lines, scanned := scan(p)
		_, err := scanner.RunOnce(t.Context())
		require.Error(t, err, name)
		require.Empty(t, *scanned, name)
		require.Len(t, records(t, lines), 1, name)
		require.LessOrEqual(t, len(p.tried), 1, name)
	}
}

// A stop is not a fault: nothing is logged.
func TestAScanThatIsToldToStopLogsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := &paper{waiting: ids(3), recover: func(uuid.UUID) (journal.Recovery, error) {
		cancel()
		return journal.Recovery{}, context.Canceled
	}}
	scanner, lines, scanned := scan(p)
	_, err := scanner.RunOnce(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, p.tried, 1)
	require.Empty(t, lines.String())
	require.Empty(t, *scanned)
}

// D3: the loop scans at once and then every five seconds.
func TestTheScannerScansEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scanner, _, scanned := scan(&paper{})
		began := time.Now()
		scanner.Start(t.Context())
		<-time.After(11 * time.Second)
		scanner.Stop()
		require.Equal(t, []time.Time{began, began.Add(5 * time.Second), began.Add(10 * time.Second)}, *scanned)
	})
}
