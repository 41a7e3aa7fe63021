package doctor_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/doctor"
	"github.com/kesita/platform/coordination/journal/journaltest"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }

// patient is a database with the sessions that stage faults in it.
type patient struct {
	*fixture.Database
	owner  *pgx.Conn
	reader *pgxpool.Pool
}

func newPatient(t *testing.T, db *fixture.Database) patient {
	t.Helper()
	reader, err := pgxpool.New(context.Background(), db.ReaderURL)
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	return patient{Database: db, owner: db.Connect(t, db.OwnerURL), reader: reader}
}

// examine looks with the reader's login, and tries with the worker's when that is given.
func (p patient) examine(t *testing.T, workerURL string) doctor.Report {
	t.Helper()
	report, err := doctor.Examine(t.Context(), doctor.Config{Database: p.reader, WorkerURL: workerURL})
	require.NoError(t, err)
	return report
}

func (p patient) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := p.owner.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// executor adds an executor: live, or over since a time ago.
func (p patient) executor(t *testing.T, state string, version string, ago time.Duration) uuid.UUID {
	t.Helper()
	id := uuid.New()
	column := map[string]string{"live": "active", "expired": "active"}[state]
	if column == "" {
		column = state
	}
	expires := -ago
	if state == "live" {
		expires = time.Hour
	}
	p.exec(t, `insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login,
			lease_ms, transaction_ms, heartbeat_at, expires_at, revoked_at, released_at)
		select $1, $2, $3, $4, $5, 75000, 20000, now(), at, case $4 when 'revoked' then at end, case $4 when 'released' then at end
		  from (select clock_timestamp() + $6 * interval '1 ms' as at) x`,
		id, fixture.Application, version, column, p.Worker.Name, expires.Milliseconds())
	return id
}

// pending is a workflow that owner claimed just now.
func pending(id string, owner uuid.UUID) journaltest.Row {
	now := time.Now().UnixMilli()
	return journaltest.Pending(id, owner, fixture.Application, fixture.Version).With("started_at_epoch_ms", now).With("updated_at", now).With("created_at", now)
}

func enqueued(id, queue string) journaltest.Row {
	return pending(id, uuid.New()).With("status", "ENQUEUED").With("queue_name", queue).With("started_at_epoch_ms", nil).With("executor_id", nil).With("recovery_attempts", 0)
}

func (p patient) insert(t *testing.T, rows ...journaltest.Row) {
	t.Helper()
	journaltest.Insert(t, p.owner, rows...)
}

// of are the findings of one check.
func of(r doctor.Report, check doctor.Check) (list []doctor.Finding) {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return f.Check != check })
}

// sick are the checks that found something.
func sick(r doctor.Report) (list []doctor.Check) {
	for _, f := range r.Findings {
		if f.Severity != doctor.OK && !slices.Contains(list, f.Check) {
			list = append(list, f.Check)
		}
	}
	return list
}
