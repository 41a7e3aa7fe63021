package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/operator"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/settings"
)

const operatorVariable = "OPERATOR_DATABASE_URL"

// operated is the flag of a command that changes the platform's own tables: only their owner may.
type operated struct {
	OperatorURL string `placeholder:"URL" help:"The database as its owner. Default: OPERATOR_DATABASE_URL."`
}

// open connects as the owner of the database.
func (o operated) open(ctx context.Context, s *session, what string) (*pgxpool.Pool, error) {
	url := cmp.Or(o.OperatorURL, s.environ[operatorVariable])
	if url == "" {
		return nil, failure{what: what, err: fmt.Errorf("%w: no database: set %s to the database as its owner", boot.ErrConfiguration, operatorVariable)}
	}
	if err := settings.CheckDatabase(url); err != nil {
		return nil, failure{what: what, err: err}
	}
	pool, err := open(ctx, url, map[string]string{"lock_timeout": fmt.Sprint(timing.Production().RowLock.Milliseconds())})
	if err != nil {
		return nil, failure{what: what, err: err}
	}
	if err = journal.CheckCatalog(ctx, pool); err == nil { // at another one nothing is touched (C7)
		err = journal.CheckOwner(ctx, pool)
	}
	if err == nil {
		return pool, nil
	}
	pool.Close()
	if errors.Is(err, journal.ErrNotOwner) {
		return nil, failure{what, fmt.Errorf("%w: set %s to the owner's", err, operatorVariable), boot.ExitPermission}
	}
	return nil, failure{what: what, err: err}
}

type revokeCommand struct {
	operated
	Force bool      `help:"Revoke it although it is alive: its process ends by itself. Or bury it although the registry does not know it."`
	ID    uuid.UUID `arg:"" help:"ID of the executor; see kesita executors."`
}

// revoked is what the command prints.
type revoked struct {
	operator.Revocation
	// Was is what the registry said before: live, expired, released, revoked or unregistered.
	Was string `json:"was"`
}

// Run implements kong's command.
func (c revokeCommand) Run(ctx context.Context, s *session) error {
	what := "revoke executor " + c.ID.String()
	pool, err := c.open(ctx, s, what)
	if err != nil {
		return err
	}
	defer pool.Close()
	waiting := s.progress("waiting for its transactions", -1)
	done, err := operator.Revoke(ctx, pool, c.ID, c.Force)
	waiting.finish()
	switch {
	case errors.Is(err, operator.ErrLive):
		return refused(what, fmt.Errorf("%w: %s; --force revokes it all the same, and its process ends by itself", err, portrait(done.Before)))
	case errors.Is(err, operator.ErrUnregistered):
		return refused(what, fmt.Errorf("%w; when no such process runs any more, --force takes their work over", err))
	case errors.Is(err, operator.ErrUnknown), errors.Is(err, journal.ErrMixedWork):
		return refused(what, err)
	case errors.Is(err, operator.ErrBusy):
		return failure{what, fmt.Errorf("%w: it is expired and its writes are refused; scans go on trying to move its work", err), exitFailedWork}
	case err != nil:
		return failure{what: what, err: err}
	}
	return s.print(revoked{done, was(done.Before)})
}

// portrait is what a person should know before using force.
func portrait(l *journal.Lease) string {
	return fmt.Sprintf("%s %s (build %s), registered %s ago, renewed %s ago, pending workflows: %d", l.Application, l.Version,
		cmp.Or(l.BuildVersion, "unknown"), age(l.Now.Sub(l.RegisteredAt)), age(l.Now.Sub(l.HeartbeatAt)), l.Pending)
}

func was(l *journal.Lease) string {
	switch {
	case l == nil:
		return "unregistered"
	case l.Live:
		return "live"
	case l.State == "active":
		return "expired"
	}
	return l.State
}

func (r revoked) text(out io.Writer) {
	_, _ = fmt.Fprintf(out, "executor\t%s, was %s, is revoked\n", r.ExecutorID, r.Was)
	_, _ = fmt.Fprintf(out, "workflows\t%d re-enqueued, %d held back, %d quarantined\n", r.Reenqueued, r.Held, len(r.Quarantined))
	if r.SessionsEnded > 0 {
		_, _ = fmt.Fprintf(out, "sessions\t%d were told to end: a transaction did not\n", r.SessionsEnded)
	}
	if len(r.Quarantined) > 0 {
		_, _ = fmt.Fprintf(out, "quarantined\t%s\n", printable(strings.Join(r.Quarantined, " ")))
	}
	if len(r.LastChance) > 0 {
		_, _ = fmt.Fprintf(out, "last attempt\t%s\n", printable(strings.Join(r.LastChance, " ")))
	}
}
