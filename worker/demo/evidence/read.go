package evidence

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/journal"
)

//go:embed sql/executors.sql
var executorsSQL string

//go:embed sql/takeovers.sql
var takeoversSQL string

//go:embed sql/tasks.sql
var tasksSQL string

//go:embed sql/jobs.sql
var jobsSQL string

//go:embed sql/published.sql
var publishedSQL string

//go:embed sql/now.sql
var nowSQL string

// Now is the database's time.
func Now(ctx context.Context, db journal.Connection) (now time.Time, err error) {
	if err := db.QueryRow(ctx, nowSQL).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the database's time: %w", err)
	}
	return now, nil
}

// ReadLeases fills in what the lease table and the journal say about the service's items. replicas names the
// executors that the demo started.
func (s *Service) ReadLeases(ctx context.Context, db journal.Connection, replicas map[string]string) error {
	var err error
	if s.Histories, err = journal.Histories(ctx, db, s.WorkflowIDs()); err != nil {
		return err
	}
	if s.Executors, err = executors(ctx, db); err != nil {
		return fmt.Errorf("read executors: %w", err)
	}
	for i := range s.Executors {
		s.Executors[i].Replica = replicas[s.Executors[i].ID]
	}
	if s.Takeovers, err = takeovers(ctx, db); err != nil {
		return fmt.Errorf("read takeovers: %w", err)
	}
	return nil
}

// WorkflowIDs are those of the service's items.
func (s *Service) WorkflowIDs() []string {
	ids := make([]string, 0, len(s.Items))
	for _, i := range s.Items {
		ids = append(ids, i.WorkflowID)
	}
	return ids
}

// Tasks are the tasks of the product's database.
func Tasks(ctx context.Context, db journal.Connection) ([]Item, error) {
	return items(ctx, db, tasksSQL)
}

// Revision is a published text.
type Revision struct {
	Revision int
	Text     string
}

// Published is what a task published last; the zero value when it published nothing.
func Published(ctx context.Context, db journal.Connection, taskID string) (Revision, error) {
	var published Revision
	err := db.QueryRow(ctx, publishedSQL, taskID).Scan(&published.Revision, &published.Text)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Revision{}, fmt.Errorf("read published revision: %w", err)
	}
	return published, nil
}

// Jobs are the jobs of the corpus' database.
func Jobs(ctx context.Context, db journal.Connection) ([]Item, error) { return items(ctx, db, jobsSQL) }

func items(ctx context.Context, db journal.Connection, query string) ([]Item, error) {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("read business tables: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Item, error) {
		var i Item
		var refused *bool
		err := row.Scan(&i.ID, &i.State, &i.Failure, &i.Settled, &refused, &i.Runs, &i.Published, &i.Parts, &i.Doubled, &i.Missing)
		i.Refused = refused != nil && *refused
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("read business tables: %w", err)
	}
	return list, nil
}

func executors(ctx context.Context, db journal.Connection) ([]Executor, error) {
	rows, err := db.Query(ctx, executorsSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Executor, error) {
		var e Executor
		var revoked *time.Time
		err := row.Scan(&e.ID, &e.State, &e.RegisteredAt, &e.HeartbeatAt, &e.ExpireAt, &revoked, &e.RevokedBy)
		if revoked != nil {
			e.RevokedAt = *revoked
		}
		return e, err
	})
}

func takeovers(ctx context.Context, db journal.Connection) ([]Takeover, error) {
	rows, err := db.Query(ctx, takeoversSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Takeover, error) {
		var t Takeover
		err := row.Scan(&t.WorkflowID, &t.Lost, &t.Scanner, &t.Cause, &t.Action, &t.Attempts, &t.Checkpoints, &t.At)
		return t, err
	})
}
