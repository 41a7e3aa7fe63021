// Package ledger asks the control ledger, a database of somebody else, whether a
// tenant's work is admitted (F9). The ledger is authoritative; this package only
// reads, and says so to the server: every statement runs in a read-only
// transaction. It knows nothing of tasks and publishes nothing.
//
// Its answer to failure: without an answer nobody is admitted. The errors of
// Admit hold no database error, because a ledger that is down must not look like
// the worker's own database being down. Without a URL there is no ledger, and
// everybody is admitted.
package ledger

import (
	"context"
	_ "embed" // the statements
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
)

// Schema creates an empty ledger, for tests and the demo.
//
//go:embed sql/schema.sql
var Schema string

//go:embed sql/admit.sql
var admitSQL string

//go:embed sql/check.sql
var checkSQL string

// ErrUnavailable says that the ledger gave no answer.
var ErrUnavailable = errors.New("control ledger is unavailable")

// connections is enough for admissions, which are one short statement a task,
// and a readiness check beside them.
const connections = 3

// admissions bounds how often one admission is asked for while the ledger is away.
const admissions = 5

// Settings of a ledger.
type Settings struct {
	// URL leads to the ledger's database; empty is no ledger.
	URL string
	// Timeout bounds one question.
	Timeout time.Duration
	// FirstPause and LongestPause bound the jittered, doubling pause between two
	// questions of one admission.
	FirstPause, LongestPause time.Duration
}

// Ledger is a control ledger. It is safe for concurrent use.
type Ledger struct {
	pool     *pgxpool.Pool // nil: no ledger is configured
	settings Settings
}

// Open returns a ledger that connects when it is first asked. Errors name no
// part of the URL.
func Open(ctx context.Context, settings Settings) (*Ledger, error) {
	if settings.URL == "" {
		return &Ledger{}, nil
	}
	config, err := pgxpool.ParseConfig(settings.URL)
	if err != nil {
		return nil, errors.New("control ledger url is not valid")
	}
	if err := guard.CheckTransport(config.ConnConfig); err != nil {
		return nil, fmt.Errorf("control ledger: %w", err)
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("open control ledger pool: %w", err)
	}
	return &Ledger{pool: pool, settings: settings}, nil
}

// Configured reports whether there is a ledger.
func (l *Ledger) Configured() bool { return l.pool != nil }

// Check returns nil when the ledger answers, or is not configured (H3). The
// error keeps the database's, so that a start can tell a fault that heals from
// one that does not.
func (l *Ledger) Check(ctx context.Context) error {
	_, err := l.ask(ctx, checkSQL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Admit reports whether the tenant's work may start. A ledger that is away for
// a moment is asked up to five times. ErrUnavailable without an answer, with the
// class of the fault as text, or the cause of ctx's end.
func (l *Ledger) Admit(ctx context.Context, tenant uuid.UUID) (bool, error) {
	admitted, err := backoff.Retry(ctx, func() (bool, error) {
		admitted, err := l.ask(ctx, admitSQL, tenant)
		if err != nil && !Heals(err) {
			err = backoff.Permanent(err)
		}
		return admitted, err
	}, backoff.WithMaxTries(admissions), backoff.WithMaxElapsedTime(0), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: l.settings.FirstPause, MaxInterval: l.settings.LongestPause, Multiplier: 2, RandomizationFactor: 0.5,
	}))
	switch {
	case err == nil:
		return admitted, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("ask control ledger: %w", context.Cause(ctx))
	}
	return false, fmt.Errorf("%w: %s", ErrUnavailable, fault.Of(err))
}

// Heals reports whether a later question may get an answer. A question that
// took too long is one of those.
func Heals(err error) bool { return fault.Heals(err) || errors.Is(err, context.DeadlineExceeded) }

// Close ends the ledger's connections.
func (l *Ledger) Close() {
	if l.pool != nil {
		l.pool.Close()
	}
}

// ask runs one question in a read-only transaction. Without a ledger the answer
// is yes.
func (l *Ledger) ask(ctx context.Context, question string, arguments ...any) (bool, error) {
	if l.pool == nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.settings.Timeout)
	defer cancel()
	var yes bool
	err := pgx.BeginTxFunc(ctx, l.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, question, arguments...).Scan(&yes)
	})
	return yes, err
}
