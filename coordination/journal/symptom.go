package journal

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/doctor_*.sql
var doctorSQL embed.FS

// Symptom is one thing that is not as it should be, as a query over unfinished work found it.
type Symptom struct {
	// Severity is error or warning.
	Severity string
	// Object is what it is about: an executor, a workflow, a queue, an application and version.
	Object string
	Count  int64
	AgeMS  int64 `db:"age_ms"`
	Detail string
	// Total counts the objects that the query found; the list may be shorter.
	Total int64
}

// Bounds are the limits from which something counts as a symptom.
type Bounds struct {
	// Overdue is how many leases after an executor's end its takeover is overdue.
	Overdue float64
	// Stuck is how long a pending workflow of a living owner may go without a recorded step.
	Stuck time.Duration
	// Unsettled is how long a quarantined workflow may wait for its settlement.
	Unsettled time.Duration
	// Stall is how long a queue with work and room may go without a claim.
	Stall time.Duration
	// Limit is the longest list of one query.
	Limit int
}

// Symptoms runs one of the queries sql/doctor_NAME.sql. Call it in Look: its cost then depends on unfinished work only.
func Symptoms(ctx context.Context, db Connection, name string, b Bounds) ([]Symptom, error) {
	query, err := doctorSQL.ReadFile("sql/doctor_" + name + ".sql")
	if err != nil {
		return nil, fmt.Errorf("examine %s: %w", name, err)
	}
	list, err := rows[Symptom](ctx, db, string(query), pgx.NamedArgs{
		"overdue": b.Overdue, "stuck_ms": b.Stuck.Milliseconds(), "unsettled_ms": b.Unsettled.Milliseconds(),
		"stall_ms": b.Stall.Milliseconds(), "limit": b.Limit, "max_attempts": MaxAttempts,
	})
	if err != nil {
		return nil, fmt.Errorf("examine %s: %w", name, err)
	}
	return list, nil
}

// Source is the SQL that Apply executes, in its order.
func Source() []string {
	return []string{journalSQL, backlogFunctionsSQL, quarantineFunctionsSQL, retentionFunctionsSQL, operatorFunctionsSQL}
}
