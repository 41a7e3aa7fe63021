package timing_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kesita/platform/coordination/timing"
)

// The tables D and K4, H6, K12.
func TestProductionTimingIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	p := timing.Production()
	for name, c := range map[string]struct{ got, want time.Duration }{
		"D1 lease renewal":                {p.Renew, 10 * time.Second},
		"D2 lease validity":               {p.Lease, 75 * time.Second},
		"D3 recovery scan":                {p.Scan, 5 * time.Second},
		"D4 diagnostic workflow":          {p.Probe, 15 * time.Second},
		"D5 queue monitor":                {p.Monitor, 5 * time.Second},
		"D5 back-off of the SDK":          {p.ClaimBackoff, 120 * time.Second},
		"D6 watchdog":                     {p.Watchdog, 45 * time.Second},
		"D7 forced exit":                  {p.ForcedExit, 5 * time.Second},
		"D8 execute":                      {p.StepExecute, 30 * time.Minute},
		"D8 settle":                       {p.StepSettle, time.Minute},
		"D9 cooperate":                    {p.StepCooperate, 5 * time.Second},
		"K4 statement":                    {p.Statement, 15 * time.Second},
		"K4 idle in transaction":          {p.IdleInTransaction, 10 * time.Second},
		"K4 transaction":                  {p.Transaction, 20 * time.Second},
		"H6 ceiling of the first pause":   {p.StartupFirst, time.Second},
		"H6 ceiling of the longest pause": {p.StartupCap, 30 * time.Second},
		"K12 summary":                     {p.Summary, time.Minute},
		"finished work is kept":           {p.Retention, 30 * 24 * time.Hour},
		"batches of the clean-up":         {p.RetentionEvery, time.Minute},
	} {
		require.Equal(t, c.want, c.got, name)
	}
	require.NoError(t, p.Validate())
}

// T6: roughly 75 to 80 seconds after the last renewal.
func TestTheTakeoverBoundIsLeaseScanAndQueuePoll(t *testing.T) {
	t.Parallel()
	bound := timing.Production().TakeoverBound()
	t.Logf("production: a peer claims the work of a dead worker at most %s after its last renewal", bound)
	require.Equal(t, 81*time.Second, bound)
}

// D5: the SDK's back-off, its jitter and two observations; longer polling intervals count when they exceed the back-off.
func TestTheStallBudgetFollowsTheLongestPause(t *testing.T) {
	t.Parallel()
	p := timing.Production()
	require.Equal(t, 136*time.Second, p.BacklogStall(time.Second))
	require.Equal(t, 220*time.Second, p.BacklogStall(200*time.Second))
}

// rule is one inequality between budgets, written down a second time: the sum of left must be less than right.
type rule struct {
	says        string
	left, right []string
}

func rules() []rule {
	return []rule{
		{"watchdog + forced exit + transaction = ", []string{"Watchdog", "ForcedExit", "Transaction"}, []string{"Lease"}},
		{"must be less than lease - renew = ", []string{"Transaction", "Renew"}, []string{"Lease"}},
		{"shutdown + forced exit = ", []string{"Shutdown", "ForcedExit"}, []string{"Watchdog"}},
		{"statement = * must be less than transaction = ", []string{"Statement"}, []string{"Transaction"}},
		{"idle in transaction = ", []string{"IdleInTransaction"}, []string{"Transaction"}},
		{"statement = * must be less than stray = ", []string{"Statement"}, []string{"Stray"}},
		{"scan = * must be less than probation = ", []string{"Scan"}, []string{"Probation"}},
		{"monitor = * must be less than watchdog = ", []string{"Monitor"}, []string{"Watchdog"}},
		{"renew + renew attempt = ", []string{"Renew", "RenewAttempt"}, []string{"Watchdog"}},
		{": renew attempt = ", []string{"RenewAttempt"}, []string{"Renew"}},
		{"scan = * must be less than watchdog = ", []string{"Scan"}, []string{"Watchdog"}},
		{"row lock = ", []string{"RowLock"}, []string{"Statement"}},
		{"probe + queue poll = ", []string{"Probe", "QueuePoll"}, []string{"Watchdog"}},
		{"watchdog tick = ", []string{"WatchdogTick"}, []string{"ForcedExit"}},
		{"watchdog + forced exit = ", []string{"Watchdog", "ForcedExit"}, []string{"StepSettle"}},
		{": step settle = ", []string{"StepSettle"}, []string{"StepExecute"}},
		{"lease check = * must be less than forced exit = ", []string{"LeaseCheck"}, []string{"ForcedExit"}},
		{"lease check = * must be less than shutdown = ", []string{"LeaseCheck"}, []string{"Shutdown"}},
		{"connect = ", []string{"Connect"}, []string{"Renew"}},
		{"silent peer = ", []string{"SilentPeer"}, []string{"Watchdog"}},
		{"step execute = * must be less than retention = ", []string{"StepExecute"}, []string{"Retention"}},
		{"retention every = ", []string{"RetentionEvery"}, []string{"Retention"}},
		{"startup first = ", []string{"StartupFirst"}, []string{"StartupCap", "one"}},
		{"step retry first = ", []string{"StepRetryFirst"}, []string{"StepRetryCap", "one"}},
	}
}

// sum adds up fields by name; "one" is the nanosecond that makes less than a not more than.
func sum(t timing.Timing, names []string) (total time.Duration) {
	for _, name := range names {
		if name == "one" {
			total++
			continue
		}
		total += time.Duration(reflect.ValueOf(t).FieldByName(name).Int())
	}
	return total
}

func (r rule) holds(t timing.Timing) bool { return sum(t, r.left) < sum(t, r.right) }

// reported says whether the error names the rule; a * in says stands for a duration.
func (r rule) reported(err error) bool {
	if err == nil {
		return false
	}
	for line := range strings.Lines(err.Error()) {
		rest, found := line, true
		for part := range strings.SplitSeq(r.says, "*") {
			if _, rest, found = strings.Cut(rest, part); !found {
				break
			}
		}
		if found {
			return true
		}
	}
	return false
}

// K4 and all others: a profile is accepted exactly when every inequality holds, and the error names exactly those
// that do not.
func TestAProfileIsAcceptedExactlyWhenEveryInequalityHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		profile := timing.Production()
		fields := reflect.ValueOf(&profile).Elem()
		for range rapid.IntRange(0, 4).Draw(rt, "changes") {
			i := rapid.IntRange(0, fields.NumField()-1).Draw(rt, "field")
			fields.Field(i).SetInt(int64(float64(fields.Field(i).Int()) * rapid.Float64Range(0.1, 10).Draw(rt, "factor")))
		}
		err := profile.Validate()
		broken := false
		for _, r := range rules() {
			require.Equal(rt, !r.holds(profile), r.reported(err), "%s: %v", r.says, err)
			broken = broken || !r.holds(profile)
		}
		if broken {
			require.ErrorIs(rt, err, timing.ErrUnsafe)
		} else {
			require.NoError(rt, err)
		}
	})
}

// The smallest breach of each rule, equality, is refused and named.
func TestEveryBrokenInequalityIsNamed(t *testing.T) {
	t.Parallel()
	for _, r := range rules() {
		profile := timing.Production()
		field := reflect.ValueOf(&profile).Elem().FieldByName(r.left[0])
		field.SetInt(field.Int() + int64(sum(profile, r.right)-sum(profile, r.left)))
		require.False(t, r.holds(profile))
		err := profile.Validate()
		require.ErrorIs(t, err, timing.ErrUnsafe, r.says)
		require.True(t, r.reported(err), "%s: %v", r.says, err)
	}
}

func TestADurationThatIsNotPositiveIsRefused(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[timing.Timing]().NumField() {
		for _, value := range []int64{0, -1} {
			profile := timing.Production()
			reflect.ValueOf(&profile).Elem().Field(i).SetInt(value)
			err := profile.Validate()
			require.ErrorIs(t, err, timing.ErrUnsafe, reflect.TypeFor[timing.Timing]().Field(i).Name)
			require.ErrorContains(t, err, "must be positive")
		}
	}
	require.ErrorIs(t, timing.Timing{}.Validate(), timing.ErrUnsafe)
}

// Tests and the demo run on one scaled profile: it must keep every inequality, and every duration must take part.
func TestScalingKeepsEveryRatio(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		factor := rapid.Float64Range(0.01, 10).Draw(rt, "factor")
		scaled := timing.Production().Scale(factor)
		require.NoError(rt, scaled.Validate())
		was, is := reflect.ValueOf(timing.Production()), reflect.ValueOf(scaled)
		for i := range was.NumField() {
			require.InDelta(rt, float64(was.Field(i).Int())*factor, is.Field(i).Int(), float64(time.Microsecond),
				was.Type().Field(i).Name)
		}
	})
	require.Equal(t, timing.Production(), timing.Production().Scale(1))
}
