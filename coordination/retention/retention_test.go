package retention_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/coordination/retention"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

// answers is a journal that gives prepared answers and notes the questions.
type answers struct {
	next func(call int) (journal.Retired, error)

	// guards everything below
	mu     sync.Mutex
	limits []int
	from   []journal.Place
	ages   []time.Duration
}

func (a *answers) Retire(_ context.Context, age time.Duration, limit int, from journal.Place) (journal.Retired, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ages, a.limits, a.from = append(a.ages, age), append(a.limits, limit), append(a.from, from)
	return a.next(len(a.limits))
}

func (a *answers) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.limits)
}

func cleaner(a *answers, out *bytes.Buffer) *retention.Cleaner {
	return retention.New(retention.Config{Journal: a, Timing: timing.Production(), Log: signal.New(signal.JSON(out, 0))})
}

// One small batch a period, of the production age: the clean-up never competes with the work.
func TestACleanerAsksOnceAPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{next: func(int) (journal.Retired, error) { return journal.Retired{Examined: 500, Deleted: 500}, nil }}
		c := cleaner(a, &bytes.Buffer{})
		c.Start(t.Context())
		synctest.Wait()
		require.Equal(t, 1, a.asked())
		<-time.After(10 * time.Minute) // by the bubble's clock
		synctest.Wait()
		c.Stop()
		require.Len(t, a.limits, 11)
		require.Equal(t, 500, a.limits[10])
		require.Equal(t, 30*24*time.Hour, a.ages[0])
	})
}

// A batch that was too much for one transaction is tried again smaller, at the same place; nothing else makes it
// smaller, and it grows again.
func TestABatchThatWasTooLargeIsTriedAgainSmaller(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tooLong, gone := &pgconn.PgError{Code: "57014"}, &pgconn.PgError{Code: "57P01"}
	a := &answers{next: func(call int) (journal.Retired, error) {
		switch call {
		case 1, 2:
			return journal.Retired{}, tooLong
		case 3:
			return journal.Retired{}, gone
		}
		return journal.Retired{Examined: 10, Deleted: 3}, nil
	}}
	c := cleaner(a, &out)
	for range 7 {
		_, _ = c.RunOnce(t.Context())
	}
	require.Equal(t, []int{500, 250, 125, 125, 250, 500, 500}, a.limits)
	require.Contains(t, out.String(), "retention_failed")
	require.Contains(t, out.String(), `"deleted":3`)

	smallest := cleaner(&answers{next: func(int) (journal.Retired, error) { return journal.Retired{}, tooLong }}, &out)
	for range 20 {
		_, err := smallest.RunOnce(t.Context())
		require.Error(t, err)
	}
}

// A stop is no failure, and a clean-up that finds nothing says nothing.
func TestACleanerIsSilentWhenThereIsNothingToSay(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	a := &answers{next: func(call int) (journal.Retired, error) {
		if call == 1 {
			return journal.Retired{Examined: 4}, nil
		}
		cancel()
		return journal.Retired{}, errors.New("stopped")
	}}
	c := cleaner(a, &out)
	for range 2 {
		_, _ = c.RunOnce(ctx)
	}
	require.Empty(t, out.String())
}

// Every worker cleans up: a finished workflow of last year is gone soon after a start, a fresh one stays.
func TestARunningWorkerDeletesWhatIsOldEnough(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	owner := d.Connect(t, d.OwnerURL)
	finished := func(id string, ended time.Time) journaltest.Row {
		return journaltest.Pending(id, uuid.New(), fixture.Application, fixture.Version).With("status", "SUCCESS").With("completed_at", ended.UnixMilli())
	}
	journaltest.Insert(t, owner, finished("old", time.Now().AddDate(-1, 0, 0)), finished("fresh", time.Now()))
	journaltest.Records(t, owner, "old")
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: coordination.ProductionTiming(), Environ: []string{},
	})
	require.NoError(t, err)
	require.NoError(t, rt.Launch(t.Context()))
	require.Eventually(t, func() bool { return journaltest.Read(t, owner, "old") == nil }, time.Minute, 20*time.Millisecond)
	require.Zero(t, journaltest.CountRecords(t, owner, "old"))
	require.NotNil(t, journaltest.Read(t, owner, "fresh"))
	require.NoError(t, rt.Shutdown(t.Context()))
}
