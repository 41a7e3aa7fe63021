package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/backlog_functions.sql
var backlogFunctionsSQL string

//go:embed sql/observe.sql
var observeSQL string

// Observation is one look at one queue.
type Observation struct {
	Queue string
	// Backlog counts rows that this executor could claim now, in partitions that have room.
	Backlog int64
	// Capacity is how many of them the queue-wide limits would let it claim; nil means that nothing limits it.
	Capacity *int64
	// LastClaim identifies the newest claim of this version, by any executor; it only ever grows while claims happen.
	// Zero: none that is running, and none within the time that was asked about.
	LastClaim int64
	// Poll is the queue's polling interval.
	Poll time.Duration
}

// Claimable reports whether a healthy queue would claim something now.
func (o Observation) Claimable() bool {
	return o.Backlog > 0 && (o.Capacity == nil || *o.Capacity > 0)
}

// Observe looks at the named queues in one statement over active and recent rows (D12). Claims of workflows that do not
// run any more are seen when they are younger than lookback.
func (j *Journal) Observe(ctx context.Context, queues []string, lookback time.Duration) ([]Observation, error) {
	rows, err := j.control.Query(ctx, observeSQL, j.executor, queues, lookback.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("observe queues: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Observation, error) {
		var o Observation
		var poll int64
		err := row.Scan(&o.Queue, &o.Backlog, &o.Capacity, &o.LastClaim, &poll)
		o.Poll = time.Duration(poll) * time.Millisecond
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("observe queues: %w", err)
	}
	return list, nil
}
