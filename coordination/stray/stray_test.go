package stray_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/stray"
	"github.com/kesita/platform/coordination/timing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paper is a journal and a host on paper.
type paper struct {
	claims   []journal.Claim
	err      error
	answers  map[string]error
	verdict  journal.Returned
	returned map[string]journal.Return

	active map[string]time.Time
	left   map[string]time.Time
}

func newPaper(claims ...journal.Claim) *paper {
	return &paper{claims: claims, returned: map[string]journal.Return{}, verdict: journal.BackInQueue}
}

func (p *paper) OwnClaims(context.Context) ([]journal.Claim, error) { return p.claims, p.err }

func (p *paper) ReturnClaim(_ context.Context, c journal.Claim, how journal.Return) (journal.Returned, error) {
	if err := p.answers[c.WorkflowID]; err != nil {
		return journal.MovedOn, err
	}
	p.returned[c.WorkflowID] = how
	if how.Park {
		return journal.Parked, nil
	}
	return p.verdict, nil
}

func (p *paper) Active() map[string]time.Time { return p.active }

func (p *paper) RanSince(id string, since time.Time) bool { return p.left[id].After(since) }

func (p *paper) Knows(name, config string) bool { return name == "shop.order" && config == name }

func claim(id string) journal.Claim {
	return journal.Claim{WorkflowID: id, WorkflowName: "shop.order", ConfigName: "shop.order", Number: 7, Age: time.Hour}
}

// finder returns a finder of production's timing and the lines it logs.
func finder(p *paper) (*stray.Finder, *bytes.Buffer) {
	lines := &bytes.Buffer{}
	return stray.New(stray.Config{Journal: p, Host: p, Timing: timing.Production(), Log: signal.New(signal.JSON(lines, slog.LevelDebug))}), lines
}

func look(t *testing.T, f *stray.Finder, times int) (sum stray.Result) {
	t.Helper()
	for range times {
		r, err := f.RunOnce(t.Context())
		require.NoError(t, err)
		sum.Returned, sum.Parked = sum.Returned+r.Returned, sum.Parked+r.Parked
		sum.Quarantined, sum.Failed = sum.Quarantined+r.Quarantined, sum.Failed+r.Failed
	}
	return sum
}

func reasons(t *testing.T, lines *bytes.Buffer) (list []string) {
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

// X2: within the minute, and not before the SDK had every chance to start or to finish it.
func TestAClaimThatNobodyRunsGoesBackAtTheFourthLook(t *testing.T) {
	t.Parallel()
	for after, returned := range map[time.Duration]map[string]journal.Return{
		30*time.Second - time.Millisecond: {},
		30*time.Second + time.Millisecond: {"a": {Refund: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPaper(claim("a"))
			f, _ := finder(p)
			f.Start(t.Context())
			<-time.After(after)
			f.Stop()
			require.Equal(t, returned, p.returned, after)
		})
	}
}

// A process that was frozen finds its clock far ahead and the claim's goroutine about to start.
func TestAJumpOfTheClockDoesNotMakeAClaimStray(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(claim("a"))
		f, _ := finder(p)
		look(t, f, 1)
		<-time.After(40 * time.Second)
		look(t, f, 2)
		require.Empty(t, p.returned)
	})
}

// What breaks the row of looks: it runs, it is another claim by now, it is gone, or nobody could look.
func TestTheCountBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(p *paper){
		"WhenTheClaimRuns":      func(p *paper) { p.active = map[string]time.Time{"a": time.Now()} },
		"WhenItIsANewClaim":     func(p *paper) { p.claims[0].Number = 8 },
		"WhenItIsGone":          func(p *paper) { p.claims = nil },
		"WhenALookGetsNoAnswer": func(p *paper) { p.err = errors.New("no answer") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPaper(claim("a"))
			f, _ := finder(p)
			look(t, f, stray.Looks-1)
			disturb(p)
			_, _ = f.RunOnce(t.Context())
			p.claims, p.active, p.err = []journal.Claim{claim("a")}, nil, nil
			look(t, f, stray.Looks-1)
			require.Empty(t, p.returned)
			look(t, f, 1)
			require.Contains(t, p.returned, "a")
		})
	}
}

// The counter stays honest: what ran counts, what never started does not, and an earlier run is not this one.
func TestOnlyAClaimThatRanCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	never, ran, before := claim("never"), claim("ran"), claim("ran-before")
	for _, c := range []*journal.Claim{&never, &ran, &before} {
		c.Age = 25 * time.Second
	}
	p := newPaper(never, ran, before)
	p.left = map[string]time.Time{"ran": now.Add(-22 * time.Second), "ran-before": now.Add(-60 * time.Second)}
	f, lines := finder(p)
	require.Equal(t, stray.Result{Returned: 3}, look(t, f, stray.Looks))
	require.Equal(t, map[string]journal.Return{"never": {Refund: true}, "ran": {}, "ran-before": {Refund: true}}, p.returned)
	require.Equal(t, []string{
		"WARN workflow_stray never_started never", "WARN workflow_stray outcome_lost ran", "WARN workflow_stray never_started ran-before",
	}, reasons(t, lines))
}

// A name that nobody registered is parked, and so is one that the SDK would look for under another one.
func TestAWorkflowThatCannotRunHereIsParkedWithASignal(t *testing.T) {
	t.Parallel()
	unknown, misnamed := claim("unknown"), claim("misnamed")
	unknown.WorkflowName, unknown.ConfigName = "shop.new", "shop.new"
	misnamed.ConfigName = ""
	p := newPaper(claim("good"), unknown, misnamed)
	p.active = map[string]time.Time{"good": time.Now()}
	f, lines := finder(p)
	require.Equal(t, stray.Result{Parked: 2}, look(t, f, stray.Looks))
	park := journal.Return{Refund: true, Park: true}
	require.Equal(t, map[string]journal.Return{"unknown": park, "misnamed": park}, p.returned)
	require.Equal(t, []string{"ERROR workflow_stray unknown_workflow unknown", "ERROR workflow_stray unknown_workflow misnamed"}, reasons(t, lines))
}

// One row that cannot be put back holds no other up, and is tried again at each look.
func TestAClaimThatCannotBePutBackDelaysNoOther(t *testing.T) {
	t.Parallel()
	p := newPaper(claim("stuck"), claim("free"))
	p.answers = map[string]error{"stuck": errors.New("locked")}
	f, lines := finder(p)
	require.Equal(t, stray.Result{Failed: 1, Returned: 1}, look(t, f, stray.Looks))
	require.Contains(t, p.returned, "free")
	p.claims, p.answers = p.claims[:1], nil
	require.Equal(t, stray.Result{Returned: 1}, look(t, f, 1))
	require.Equal(t, []string{
		"WARN executor_coordination observation_failed stuck", "WARN workflow_stray never_started free", "WARN workflow_stray never_started stuck",
	}, reasons(t, lines))
}

func TestWhatMovedOnIsNoStray(t *testing.T) {
	t.Parallel()
	p := newPaper(claim("a"))
	p.verdict = journal.MovedOn
	f, lines := finder(p)
	require.Zero(t, look(t, f, 3*stray.Looks))
	require.Empty(t, lines.String())
}

func TestAStrayWithoutAnAttemptLeftIsCountedAsQuarantined(t *testing.T) {
	t.Parallel()
	p := newPaper(claim("a"))
	p.verdict = journal.OutOfAttempts
	f, lines := finder(p)
	require.Equal(t, stray.Result{Quarantined: 1}, look(t, f, stray.Looks))
	require.Contains(t, lines.String(), `"action":"quarantined"`)
}

// The end of the finder is no fault.
func TestAnEndedFinderComplainsOfNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newPaper()
	p.err = context.Canceled
	f, lines := finder(p)
	_, err := f.RunOnce(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, lines.String())
}
