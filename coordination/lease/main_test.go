package lease_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

// The rules that can share a database: each has executors of its own.
func TestLease(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	for name, rule := range map[string]func(*testing.T, *fixture.Database){
		"ARenewalExtendsTheLease":                                aRenewalExtendsTheLease,
		"ASlowAnswerDoesNotExtendTheDeadline":                    aSlowAnswerDoesNotExtendTheDeadline,
		"ALockOnTheRowDoesNotExtendTheDeadline":                  aLockOnTheRowDoesNotExtendTheDeadline,
		"ARenewalThatWaitedPastTheExpiryDoesNotResurrect":        aRenewalThatWaitedPastTheExpiryDoesNotResurrect,
		"AnExhaustedWorkerStillRenews":                           anExhaustedWorkerStillRenews,
		"ATerminatedConnectionIsReplaced":                        aTerminatedConnectionIsReplaced,
		"ASilentNetworkIsBoundedByTheAttempt":                    aSilentNetworkIsBoundedByTheAttempt,
		"TheLoopKeepsTheLeaseThroughAShortOutage":                theLoopKeepsTheLeaseThroughAShortOutage,
		"ALostLeaseIsReportedOnceAndNeverRenewedAgain":           aLostLeaseIsReportedOnceAndNeverRenewedAgain,
		"ReleaseEndsTheLeaseAndAbandonLeavesItToExpire":          releaseEndsTheLeaseAndAbandonLeavesItToExpire,
		"AnExpiredLeaseCannotBeReleased":                         anExpiredLeaseCannotBeReleased,
		"ATombstoneRefusesItsExecutorIDForEver":                  aTombstoneRefusesItsExecutorIDForEver,
		"AnExecutorIsRegisteredWithItsBuildInItsOwnDatabaseOnly": anExecutorIsRegisteredWithItsBuildInItsOwnDatabaseOnly,
		"ACheckFailsWhenTheDatabaseIsAwayHoweverFreshTheLease":   aCheckFailsWhenTheDatabaseIsAwayHoweverFreshTheLease,
		"ACheckOfAnUnknownExecutorIsFenced":                      aCheckOfAnUnknownExecutorIsFenced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, d)
		})
	}
}

const (
	patience = 30 * time.Second
	poll     = 2 * time.Millisecond
)

// limits are a tenth of production's where a test waits for them, and generous where a busy machine must not be taken
// for a fault: a renewal each second, attempts and checks of 2 s, a lease of 20 s.
func limits() timing.Timing {
	l, production := fixture.Timing(), timing.Production()
	l.Lease, l.RenewAttempt, l.LeaseCheck = 2*production.Renew, production.LeaseCheck, production.LeaseCheck
	l.Statement, l.IdleInTransaction, l.Connect = production.Statement, production.IdleInTransaction, production.Connect
	return l
}

// holder is one executor with its lease, its way to the database and what it was told.
type holder struct {
	*lease.Lease
	id      uuid.UUID
	db      *fixture.Database
	control *pgxpool.Pool
	owner   *pgx.Conn
	renewed atomic.Pointer[time.Time]
	lost    atomic.Int32
	log     bytes.Buffer
}

// prepare returns a holder without a lease, and the configuration to acquire one over url.
func prepare(t *testing.T, d *fixture.Database, url string) (*holder, lease.Config) {
	t.Helper()
	h := &holder{id: uuid.New(), db: d, owner: d.Connect(t, d.OwnerURL)}
	config, err := guard.Identity{ExecutorID: h.id, Timing: limits()}.PoolConfig(url, 2)
	require.NoError(t, err)
	h.control, err = pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(h.control.Close)
	return h, lease.Config{
		Owner:  lease.Owner{ExecutorID: h.id, Application: fixture.Application, Version: fixture.Version, BuildVersion: "1.2", BuildRevision: "abc"},
		Timing: limits(), Connection: config.ConnConfig.Copy(), Control: h.control,
		Log:     signal.New(signal.JSON(&h.log, slog.LevelDebug)),
		Renewed: func(sent time.Time) { h.renewed.Store(&sent) },
		Lost:    func(error) { h.lost.Add(1) },
	}
}

func acquire(t *testing.T, d *fixture.Database, url string) *holder {
	t.Helper()
	h, config := prepare(t, d, url)
	var err error
	h.Lease, err = lease.Acquire(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { h.Abandon(context.Background()) })
	return h
}

// through is a worker's URL that leads through a proxy.
func through(t *testing.T, d *fixture.Database, p *proxy) string {
	t.Helper()
	u, err := url.Parse(d.WorkerURL)
	require.NoError(t, err)
	u.Host = p.address()
	return u.String()
}

type row struct {
	State              string
	Heartbeat, Expires time.Time
}

func (h *holder) row(t require.TestingT) (r row) {
	require.NoError(t, h.owner.QueryRow(context.Background(), `select state, heartbeat_at, expires_at
		from workflow_coordination.executor where executor_id = $1`, h.id).Scan(&r.State, &r.Heartbeat, &r.Expires))
	return r
}

func (h *holder) exec(t *testing.T, sql string) {
	t.Helper()
	_, err := h.owner.Exec(t.Context(), strings.ReplaceAll(sql, "$id", "'"+h.id.String()+"'"))
	require.NoError(t, err)
}
