package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/timing"
)

// ErrLost says that the database refused to renew: the lease expired or was revoked, and this executor is over.
var ErrLost = errors.New("lease lost")

// Owner is who holds a lease.
type Owner struct {
	ExecutorID           uuid.UUID
	Application, Version string
	// BuildVersion and BuildRevision name the binary, for the lease row only.
	BuildVersion, BuildRevision string
}

// Config is what a lease needs.
type Config struct {
	Owner  Owner
	Timing timing.Timing
	// Connection is how renewals reach the database; it already carries the identity.
	Connection *pgx.ConnConfig
	// Control runs everything but renewals. It carries the identity too.
	Control *pgxpool.Pool
	Log     *signal.Log
	// Renewed is told the send time of every successful renewal.
	Renewed func(sent time.Time)
	// Lost is called once, when the database says that the lease is over.
	Lost func(error)
}

// Lease is one executor's right to write. Make it with Acquire.
type Lease struct {
	config Config
	loop   *service.Loop

	// attempt lets one renewal run at a time and guards conn. Nothing but renewals and the end waits for it: it is
	// held as long as the network takes.
	attempt sync.Mutex
	conn    *pgx.Conn

	// guards everything below
	mu   sync.Mutex
	sent time.Time
	lost bool
}

// Acquire registers the executor (C2, C4) and returns its lease, valid for Timing.Lease by the database's clock.
// Call Start to keep it. Errors carry the database's reason; see package fault.
func Acquire(ctx context.Context, config Config) (*Lease, error) {
	l := &Lease{config: config}
	l.loop = service.NewLoop(l.untilNext, func(ctx context.Context) { _ = l.RunOnce(ctx) })
	sent := time.Now()
	o := config.Owner
	_, err := config.Control.Exec(ctx, registerSQL, o.ExecutorID, o.Application, o.Version,
		config.Timing.Lease.Milliseconds(), config.Timing.Transaction.Milliseconds(), o.BuildVersion, o.BuildRevision)
	if err != nil {
		return nil, fmt.Errorf("register executor: %w", err)
	}
	l.sent = sent
	return l, nil
}

// Start renews the lease every Timing.Renew until Stop.
func (l *Lease) Start(ctx context.Context) { l.loop.Start(ctx) }

// Stop ends the renewals and leaves the lease as it is. Follow it with Release or Abandon.
func (l *Lease) Stop() { l.loop.Stop() }

// untilNext is the pause between two attempts: the period after a success, a quarter of it while renewals fail.
func (l *Lease) untilNext() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.sent) > l.config.Timing.Renew {
		return l.config.Timing.Renew / 4
	}
	return l.config.Timing.Renew
}

// RunOnce makes one attempt to renew, bounded by Timing.RenewAttempt. It returns ErrLost when the database refused;
// any other error leaves the lease undecided and the next attempt opens a new connection.
func (l *Lease) RunOnce(ctx context.Context) error {
	l.attempt.Lock()
	defer l.attempt.Unlock()
	if l.isLost() {
		return ErrLost
	}
	attempt, cancel := context.WithTimeout(ctx, l.config.Timing.RenewAttempt)
	defer cancel()
	sent, expires, err := l.renew(attempt)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && fault.Of(err) != fault.Fenced:
		l.config.Log.Warn(ctx, signal.Coordination, signal.RenewalFailed, signal.Fault(err))
		return err
	case err != nil || expires == nil:
		l.lose(ctx)
		return ErrLost
	}
	l.mu.Lock()
	l.sent = sent
	l.mu.Unlock()
	if l.config.Renewed != nil {
		l.config.Renewed(sent)
	}
	return nil
}

// renew returns the time at which the request was sent: the response may be late, the database counted from no
// later than its arrival (D10).
func (l *Lease) renew(ctx context.Context) (sent time.Time, expires *time.Time, err error) {
	conn, err := l.connection(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	sent = time.Now()
	err = conn.QueryRow(ctx, renewSQL, l.config.Owner.ExecutorID).Scan(&expires)
	if err != nil {
		// Whatever it was - a read-only node, a silent peer, a restart - the next attempt starts from a new connection.
		l.drop(ctx)
		return sent, nil, fmt.Errorf("renew lease: %w", err)
	}
	return sent, expires, nil
}

// connection needs attempt.
func (l *Lease) connection(ctx context.Context) (*pgx.Conn, error) {
	if l.conn != nil && !l.conn.IsClosed() {
		return l.conn, nil
	}
	conn, err := pgx.ConnectConfig(ctx, l.config.Connection)
	if err != nil {
		return nil, fmt.Errorf("connect to renew lease: %w", err)
	}
	l.conn = conn
	return conn, nil
}

// drop needs attempt.
func (l *Lease) drop(ctx context.Context) {
	if l.conn != nil {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.config.Timing.LeaseCheck)
		_ = l.conn.Close(done)
		cancel()
		l.conn = nil
	}
}

// lose tells the owner first and writes the line then: a log that blocks must not keep a lost lease secret.
func (l *Lease) lose(ctx context.Context) {
	l.mu.Lock()
	first := !l.lost
	l.lost = true
	l.mu.Unlock()
	if !first {
		return
	}
	if l.config.Lost != nil {
		l.config.Lost(ErrLost)
	}
	l.config.Log.Error(ctx, signal.Coordination, signal.LeaseLost)
}

func (l *Lease) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Check asks the database whether the lease is valid (K5) and returns how much of it is left. It never answers from
// memory: after a suspended machine a local deadline would say yes. The error is fault.Fenced when the lease is over
// and one that heals (fault.Heals) when nobody can tell. Bounded by Timing.LeaseCheck.
func (l *Lease) Check(ctx context.Context) (left time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, l.config.Timing.LeaseCheck)
	defer cancel()
	var milliseconds int64
	if err := l.config.Control.QueryRow(limited, checkSQL, l.config.Owner.ExecutorID).Scan(&milliseconds); err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			err = &fault.ConnectionError{Err: err} // no answer in time, whoever was slow: a caller must not take it for its own failure
		}
		return 0, fmt.Errorf("check lease: %w", err)
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// Deadline is the local time after which the lease must not be trusted any more: the send time of the last
// successful renewal plus Timing.Lease, on the monotonic clock.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.Add(l.config.Timing.Lease)
}

// Release ends the lease so that peers need not wait for expiry. Only a worker whose SDK reported a clean stop may
// call it (H2). It reports whether the lease was still held.
func (l *Lease) Release(ctx context.Context) (held bool, err error) {
	l.Stop()
	defer l.hangUp(ctx)
	if err := l.config.Control.QueryRow(ctx, releaseSQL, l.config.Owner.ExecutorID).Scan(&held); err != nil {
		return false, fmt.Errorf("release lease: %w", err)
	}
	return held, nil
}

// Abandon stops renewing and leaves the lease to expire: peers take over when the database's clock says so.
func (l *Lease) Abandon(ctx context.Context) {
	l.Stop()
	l.hangUp(ctx)
}

// hangUp closes the renewals' own connection, after Stop.
func (l *Lease) hangUp(ctx context.Context) {
	l.attempt.Lock()
	defer l.attempt.Unlock()
	l.drop(ctx)
}

// EndSessions ends every session of an executor that is expired or no longer active, and returns how many (K4).
func EndSessions(ctx context.Context, control *pgxpool.Pool, executor uuid.UUID) (sessions int, err error) {
	if err := control.QueryRow(ctx, endSessionsSQL, executor).Scan(&sessions); err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	return sessions, nil
}
