// Package journaltest puts rows into the journal and reads them back whole. Tests only.
//
// It writes as the owner, past the guard, and knows what a row of the pinned catalog must carry. It checks nothing;
// a row that the database refuses fails the test.
package journaltest

import (
	"context"
	_ "embed" // the queries
	"maps"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

//go:embed sql/insert.sql
var insertSQL string

//go:embed sql/read.sql
var readSQL string

//go:embed sql/backlog.sql
var backlogSQL string

//go:embed sql/records.sql
var recordsSQL string

//go:embed sql/count_records.sql
var countRecordsSQL string

// Row is one row of the workflow table, by column. A column that is missing is null.
type Row map[string]any

// Pending is a workflow that owner claimed once from the queue "orders" and has not finished.
func Pending(id string, owner uuid.UUID, application, version string) Row {
	return Row{
		"workflow_uuid": id, "status": "PENDING", "name": "shop.order", "executor_id": owner.String(),
		"application_name": application, "application_version": version, "queue_name": "orders",
		"recovery_attempts": 1, "started_at_epoch_ms": 1_700_000_001_000,
	}
}

// With returns a copy of r with one column changed.
func (r Row) With(column string, value any) Row {
	changed := maps.Clone(r)
	changed[column] = value
	return changed
}

// Connection is a pool or a connection of the database's owner.
type Connection interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Insert adds rows; columns that the table requires have a default.
func Insert(t require.TestingT, db Connection, rows ...Row) {
	full := make([]Row, len(rows))
	for i, r := range rows {
		full[i] = Row{
			"created_at": 1_700_000_000_000, "updated_at": 1_700_000_002_000, "priority": 0,
			"was_forked_from": false, "rate_limited": false, "is_debounced": false,
		}
		maps.Copy(full[i], r)
	}
	var inserted int
	require.NoError(t, db.QueryRow(context.Background(), insertSQL, full).Scan(&inserted))
	require.Equal(t, len(rows), inserted)
}

// Read returns a workflow's row, every column; nil when there is none.
func Read(t require.TestingT, db Connection, id string) Row {
	var row Row
	require.NoError(t, db.QueryRow(context.Background(), readSQL, id).Scan(&row))
	return row
}

// Backlog adds count claimed workflows named prefix-1, prefix-2 and so on; every other one was started directly.
func Backlog(t testing.TB, db Connection, owner uuid.UUID, application, version, prefix string, count int) {
	t.Helper()
	var inserted int
	require.NoError(t, db.QueryRow(t.Context(), backlogSQL, owner, application, version, prefix, count).Scan(&inserted))
	require.Equal(t, count, inserted)
}

// Records adds a workflow's records outside the workflow table: input, output and one checkpoint.
func Records(t require.TestingT, db Connection, id string) {
	var added int
	require.NoError(t, db.QueryRow(context.Background(), recordsSQL, id).Scan(&added))
	require.Equal(t, 3, added)
}

// CountRecords counts what Records added and is still there.
func CountRecords(t require.TestingT, db Connection, id string) (count int) {
	require.NoError(t, db.QueryRow(context.Background(), countRecordsSQL, id).Scan(&count))
	return count
}
