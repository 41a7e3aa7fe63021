package guard

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/timing"
)

// Setting is the session setting that carries the executor's identity.
const Setting = "kesita.executor_id"

// Identity is what every connection of one worker carries.
type Identity struct {
	// ExecutorID is this process life.
	ExecutorID uuid.UUID
	// Timing bounds statements, idle transactions and silent peers.
	Timing timing.Timing
}

// Apply puts the identity and the limits into a connection's start-up parameters: there, a reset of the session
// cannot remove them. Poolers in transaction mode refuse or lose them, and then the guard refuses the writes.
func (id Identity) Apply(config *pgx.ConnConfig) {
	parameters := config.RuntimeParams
	parameters[Setting] = id.ExecutorID.String()
	parameters["application_name"] = "kesita:" + id.ExecutorID.String()
	parameters["statement_timeout"] = milliseconds(id.Timing.Statement)
	parameters["idle_in_transaction_session_timeout"] = milliseconds(id.Timing.IdleInTransaction)
	parameters["tcp_user_timeout"] = milliseconds(id.Timing.SilentPeer)
	config.ConnectTimeout = id.Timing.Connect
	config.DialFunc = dialer(id.Timing)
	config.OnPgError = survives
}

// survives reports whether a session is kept after an error. A read-only one never heals: it stands on the node that a
// fail-over left behind, and would fail every write until its pool closes it for age (H5).
func survives(_ *pgconn.PgConn, e *pgconn.PgError) bool {
	return !strings.EqualFold(e.Severity, "FATAL") && e.Code != "25006"
}

// PoolConfig parses url into a pool configuration that carries the identity. maxConns is the pool's size.
func (id Identity) PoolConfig(url string, maxConns int32) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse database url: %w", err)
	}
	if err := CheckTransport(config.ConnConfig); err != nil {
		return nil, err
	}
	id.Apply(config.ConnConfig)
	config.MaxConns = maxConns
	config.MinConns = 0
	return config, nil
}

func dialer(t timing.Timing) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{
		Timeout:         t.Connect,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: t.SilentPeer, Interval: t.SilentPeer / 3, Count: 3},
		Control:         silentPeerControl(t.SilentPeer),
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return marked{conn}, nil
	}
}

// marked is a connection whose errors say whose they are; see fault.ConnectionError.
type marked struct{ net.Conn }

func (m marked) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	return n, mark(err)
}

func (m marked) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	return n, mark(err)
}

func mark(err error) error {
	if err == nil {
		return nil
	}
	return &fault.ConnectionError{Err: err}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10)
}
