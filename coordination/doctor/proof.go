package doctor

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/timing"
)

//go:embed sql/session.sql
var sessionSQL string

//go:embed sql/writes.sql
var writesSQL string

//go:embed sql/begin.sql
var beginSQL string

//go:embed sql/back.sql
var backSQL string

//go:embed sql/identity.sql
var identitySQL string

//go:embed sql/register.sql
var registerSQL string

//go:embed sql/release.sql
var releaseSQL string

//go:embed sql/expire.sql
var expireSQL string

//go:embed sql/revoke.sql
var revokeSQL string

// Leases of the executors that a proof makes up, in milliseconds. The longest outlives every proof, the shortest is
// the least that the registry accepts.
const (
	longestLease  = 3_600_000
	longestWrite  = longestLease - 1
	shortestLease = 100
	shortestWrite = 1
)

// tooLong is the guard's answer to a transaction that lasts too long. It heals, so it counts as transient elsewhere.
const tooLong = "KF004"

// failure is one write that had the wrong answer.
type failure struct{ kind, persona, verdict, level string }

// write is one statement that a worker may make.
type write struct{ table, kind, statement string }

// persona is who tries, and the SQLSTATE that must answer; empty for the one that must be let through.
type persona struct {
	name, want string
	// identity is what the session carries; nil for a session that never carried any.
	identity *string
}

// errNotProven ends a proof that could not be made; its text says why.
type errNotProven string

func (e errNotProven) Error() string { return string(e) }

// prove tries every write under every identity, at both kinds of isolation that the SDK uses, and rolls back.
func (e *examination) prove(ctx context.Context, config Config) error {
	if config.WorkerURL == "" {
		e.add(Finding{Check: Fence, Severity: Warning, Object: e.place.application, Detail: "not proven: no worker login was given (--worker-url or WORKER_DATABASE_URL)"})
		e.findings[len(e.findings)-1].Remedy = "run it again with a worker's database URL"
		return nil
	}
	failures := map[string][]failure{}
	err := e.proveAt(ctx, config, pgx.ReadCommitted, failures)
	if err == nil {
		err = e.proveAt(ctx, config, pgx.RepeatableRead, failures)
	}
	var not errNotProven
	switch {
	case err == nil:
		e.proof.Made = true
	case errors.As(err, &not), fault.Of(err) != fault.Outage && ctx.Err() == nil:
		e.proof = Proof{Login: e.proof.Login}
		e.add(Finding{Check: Fence, Severity: Error, Object: e.place.application, Detail: "not proven: " + fault.Text(err)})
	default:
		return fmt.Errorf("prove the fence: %w", err)
	}
	for _, table := range slices.Sorted(maps.Keys(failures)) {
		list := failures[table]
		e.add(Finding{Check: Fence, Severity: Error, Object: table, Count: int64(len(list)), Detail: describe(list)})
	}
	return nil
}

func (e *examination) proveAt(ctx context.Context, config Config, level pgx.TxIsoLevel, failures map[string][]failure) error {
	conn, err := connect(ctx, config.WorkerURL, e.timing)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was to be kept
	if err := e.sameWorker(ctx, conn); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the end of the session does the same
	writes, err := readWrites(ctx, tx)
	if err != nil {
		return err
	}
	e.proof.Tables = tables(writes)
	p := stage{ctx: ctx, tx: tx, application: e.place.application, writes: writes, failures: failures, level: level}
	if err := p.play(); err != nil {
		return err
	}
	e.proof.Refusals += p.refusals
	return nil
}

func connect(ctx context.Context, url string, t timing.Timing) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errNotProven("the worker's database URL is not valid")
	}
	if err := guard.CheckTransport(config); err != nil {
		return nil, err
	}
	config.ConnectTimeout = t.Connect
	config.RuntimeParams["application_name"] = "kesita-doctor"
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(t.Statement.Milliseconds(), 10)
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(t.RowLock.Milliseconds(), 10)
	return pgx.ConnectConfig(ctx, config)
}

// sameWorker: the URL leads to the examined database, with a listed login and no identity of its own.
func (e *examination) sameWorker(ctx context.Context, conn *pgx.Conn) error {
	var other place
	err := conn.QueryRow(ctx, placeSQL).Scan(&other.database, &other.started, &other.application, &other.schemaVersion, &other.now)
	if err != nil {
		return err
	}
	if other.database != e.place.database || !other.started.Equal(e.place.started) {
		return errNotProven("the worker's database URL leads to another database: " + other.database)
	}
	var listed bool
	var identity string
	if err := conn.QueryRow(ctx, sessionSQL).Scan(&e.proof.Login, &listed, &identity); err != nil {
		return err
	}
	switch {
	case !listed:
		return errNotProven("login " + e.proof.Login + " is not in the list of worker logins, so the fence does not see it")
	case identity != "":
		return errNotProven("sessions of login " + e.proof.Login + " begin with an executor's identity")
	}
	return nil
}

func readWrites(ctx context.Context, tx pgx.Tx) ([]write, error) {
	rows, err := tx.Query(ctx, writesSQL)
	if err != nil {
		return nil, err
	}
	var list []write
	var w write
	_, err = pgx.ForEachRow(rows, []any{&w.table, &w.kind, &w.statement}, func() error { list = append(list, w); return nil })
	return list, err
}

func tables(writes []write) int {
	names := map[string]bool{}
	for _, w := range writes {
		names[w.table] = true
	}
	return len(names)
}

// stage is one transaction in which personas try to write.
type stage struct {
	ctx         context.Context // lives for one call
	tx          pgx.Tx
	application string
	writes      []write
	failures    map[string][]failure
	refusals    int
	level       pgx.TxIsoLevel
}

// play makes up executors in each state and lets each try. All of it exists in this transaction only.
func (s *stage) play() error {
	live, slow, released, expired := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	if err := s.try(persona{"no identity", "KF003", nil}); err != nil { // first: a setting never becomes unset again
		return err
	}
	for _, x := range []struct {
		id           uuid.UUID
		lease, write int
	}{{live, longestLease, longestWrite}, {slow, longestLease, shortestWrite}, {released, longestLease, longestWrite}, {expired, shortestLease, shortestWrite}} {
		if _, err := s.tx.Exec(s.ctx, registerSQL, x.id, s.application, x.lease, x.write); err != nil {
			return err
		}
	}
	var over bool
	if err := s.tx.QueryRow(s.ctx, releaseSQL, released).Scan(&over); err != nil || !over {
		return errors.Join(err, when(!over, "an executor could not be released"))
	}
	if err := s.tx.QueryRow(s.ctx, expireSQL, expired).Scan(nil, &over); err != nil || !over {
		return errors.Join(err, when(!over, "a lease did not expire"))
	}
	for _, p := range []persona{
		as("an empty identity", "KF003", ""), as("garbage as identity", "KF003", "not-an-executor"),
		as("an unknown executor", "KF003", uuid.NewString()), as("an expired executor", "KF001", expired.String()),
		as("a released executor", "KF002", released.String()), as("a transaction that is too long", tooLong, slow.String()),
		as("a valid executor", "", live.String()),
	} {
		if err := s.try(p); err != nil {
			return err
		}
	}
	// as the valid one still: recovery is a write too
	if err := s.tx.QueryRow(s.ctx, revokeSQL, live, expired).Scan(&over); err != nil || !over {
		return errors.Join(err, when(!over, "an expired executor could not be revoked"))
	}
	return s.try(as("a revoked executor", "KF002", expired.String()))
}

func as(name, want, identity string) persona { return persona{name, want, &identity} }

func when(failed bool, why string) error {
	if failed {
		return errNotProven(why)
	}
	return nil
}

// try makes every write as one persona and notes the answers that are wrong.
func (s *stage) try(p persona) error {
	if p.identity != nil {
		if _, err := s.tx.Exec(s.ctx, identitySQL, *p.identity); err != nil {
			return err
		}
	}
	if _, err := s.tx.Exec(s.ctx, beginSQL); err != nil {
		return err
	}
	for _, w := range s.writes {
		_, err := s.tx.Exec(s.ctx, w.statement, pgx.QueryExecModeSimpleProtocol)
		var pg *pgconn.PgError
		got := ""
		switch {
		case errors.As(err, &pg):
			got = pg.Code
			if got != p.want && got != tooLong && fault.Of(err) == fault.Transient { // says nothing about the guard
				return errNotProven("table " + w.table + " is in use by somebody else: " + fault.Text(err))
			}
		case err != nil:
			return err
		}
		switch {
		case got == p.want && p.want != "":
			s.refusals++
		case got != p.want:
			s.failures[w.table] = append(s.failures[w.table], failure{w.kind, p.name, verdict(got, p.want), string(s.level)})
		}
	}
	_, err := s.tx.Exec(s.ctx, backSQL, pgx.QueryExecModeSimpleProtocol)
	return err
}

func verdict(got, want string) string {
	switch {
	case got == "":
		return "let through"
	case want == "":
		return "refused with " + got
	}
	return "answered with " + got + " instead of " + want
}
