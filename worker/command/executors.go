package command

import (
	"context"
	_ "embed" // the query
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed sql/executors.sql
var executorsSQL string

type executorsCommand struct {
	database
	Limit int `default:"50" help:"The largest number of leases of one database. Ended ones stay for ever."`
}

// executors is what the command prints (O3).
type executors struct {
	Executors []executor `json:"executors"`
}

type executor struct {
	ApplicationName    string    `json:"application_name"`
	ApplicationVersion string    `json:"application_version"`
	ExecutorID         uuid.UUID `json:"executor_id"`
	// State is what the table says: active, released or revoked.
	State string `json:"state"`
	// Expired: the database's clock is past expires_at. An active lease that expired waits for a peer to revoke it.
	Expired      bool       `json:"expired"`
	HeartbeatAt  time.Time  `json:"heartbeat_at"`
	ExpiresAt    time.Time  `json:"expires_at"`
	ReleasedAt   *time.Time `json:"released_at"`
	RevokedAt    *time.Time `json:"revoked_at"`
	BuildVersion string     `json:"build_version"`
	// HeartbeatAgeMS is the time since the last renewal by the database's clock, in milliseconds.
	HeartbeatAgeMS int64 `json:"heartbeat_age_ms"`
}

// Run implements kong's command.
func (c executorsCommand) Run(ctx context.Context, s *session) error {
	places, err := c.all(s)
	if err != nil {
		return failure{what: "executors", err: err}
	}
	found := executors{Executors: []executor{}}
	for _, p := range places {
		some, err := c.read(ctx, p.url)
		if err != nil {
			return failure{what: "list executors", err: err}
		}
		found.Executors = append(found.Executors, some...)
	}
	return s.print(found)
}

func (c executorsCommand) read(ctx context.Context, url string) ([]executor, error) {
	pool, err := open(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	rows, err := pool.Query(ctx, executorsSQL, c.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (executor, error) {
		var e executor
		var now time.Time
		err := row.Scan(&e.ApplicationName, &e.ApplicationVersion, &e.ExecutorID, &e.State, &e.HeartbeatAt, &e.ExpiresAt,
			&e.ReleasedAt, &e.RevokedAt, &e.BuildVersion, &now)
		e.Expired = now.After(e.ExpiresAt)
		e.HeartbeatAgeMS = now.Sub(e.HeartbeatAt).Milliseconds()
		return e, err
	})
}

func (e executors) text(out io.Writer) {
	if len(e.Executors) == 0 {
		_, _ = fmt.Fprintln(out, "no executor ever registered here")
		return
	}
	_, _ = fmt.Fprintln(out, "EXECUTOR\tAPPLICATION\tVERSION\tSTATE\tRENEWED\tEXPIRES")
	for _, one := range e.Executors {
		state, expires := one.State, "-"
		left := one.ExpiresAt.Sub(one.HeartbeatAt) - time.Duration(one.HeartbeatAgeMS)*time.Millisecond
		switch {
		case state == "active" && one.Expired:
			state, expires = "active, expired", age(-left)+" ago"
		case state == "active":
			expires = "in " + age(left)
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s ago\t%s\n", one.ExecutorID, printable(one.ApplicationName), printable(one.ApplicationVersion),
			state, age(time.Duration(one.HeartbeatAgeMS)*time.Millisecond), expires)
	}
}
