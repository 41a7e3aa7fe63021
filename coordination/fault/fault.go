// Package fault owns the meaning of a database error: who caused it and whether waiting can heal it.
//
// It is the one place where an SQLSTATE is read (style: classify once, at the edge). It must not know who asks or
// what they do about it. An error it does not know is Unknown, and Unknown is never retried.
package fault

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// Class is what a database error means.
type Class string

// The classes.
const (
	// None: no error.
	None Class = ""
	// Fenced: the write guard or the lease check refused this executor (KF001-KF003). It never heals.
	Fenced Class = "fenced"
	// Outage: the database cannot be reached, is starting, stopping, full or read-only. It heals.
	Outage Class = "outage"
	// Transient: this transaction lost against another or against a limit. Trying again can succeed.
	Transient Class = "transient"
	// Authentication: the server refused the login.
	Authentication Class = "authentication"
	// Permission: the login may not do this.
	Permission Class = "permission"
	// DatabaseMissing: no such database.
	DatabaseMissing Class = "database_missing"
	// SchemaMissing: a migration did not run.
	SchemaMissing Class = "schema_missing"
	// GuardsIncomplete: a table that workers can write lacks the guard (KF007).
	GuardsIncomplete Class = "guards_incomplete"
	// CatalogMismatch: the journal's catalog is not the supported one (KF008).
	CatalogMismatch Class = "catalog_mismatch"
	// OtherApplication: the database belongs to another service (KF006).
	OtherApplication Class = "other_application"
	// NotAWorker: the login is not in the list of worker logins (KF005).
	NotAWorker Class = "login_not_worker"
	// IdentityLost: something between worker and server drops the session's identity.
	IdentityLost Class = "identity_lost"
	// Configuration: the connection string itself is wrong.
	Configuration Class = "configuration"
	// Unknown: not a database error, or one that nobody classified.
	Unknown Class = "unknown"
)

// Of returns the class of err. The whole chain is searched; an SQLSTATE wins over everything else.
func Of(err error) Class {
	if err == nil {
		return None
	}
	if pg, found := errors.AsType[*pgconn.PgError](err); found {
		return ofState(pg)
	}
	if _, found := errors.AsType[*pgconn.ParseConfigError](err); found {
		return Configuration
	}
	if ofDatabase(err) {
		return Outage
	}
	return Unknown
}

// ConnectionError is an error of a connection to the database. Package guard puts it around what the network says,
// because pgx hands that out as it is: a step's own file or HTTP stream ends with the same io.ErrUnexpectedEOF.
type ConnectionError struct{ Err error }

// Error implements error.
func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap returns what the network said.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Timeout implements net.Error.
func (e *ConnectionError) Timeout() bool {
	var network net.Error
	return errors.As(e.Err, &network) && network.Timeout()
}

// Temporary implements net.Error.
func (e *ConnectionError) Temporary() bool { return e.Timeout() }

// ofDatabase reports whether err says that the database could not be reached or did not answer. No other error of the
// network counts, nor does a caller's own deadline.
func ofDatabase(err error) bool {
	var connect *pgconn.ConnectError
	var connection *ConnectionError
	return errors.As(err, &connect) || errors.As(err, &connection) || pgconn.Timeout(err) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool)
}

// Heals reports whether waiting and trying again can succeed. A context error does not heal: its owner gave up.
func Heals(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	class := Of(err)
	return class == Outage || class == Transient
}

// Infrastructure reports whether err says something about the platform and nothing about the caller's business.
func Infrastructure(err error) bool {
	switch Of(err) {
	case Fenced, Outage, Transient:
		return true
	default:
		return false
	}
}

func ofState(pg *pgconn.PgError) Class {
	switch {
	case pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter"):
		return IdentityLost // a pooler that does not let the identity through; it uses this state for outages too
	case pg.Code == "0A000" && strings.Contains(pg.Message, "cached plan"):
		return Transient // a migration changed a table under a prepared statement; the driver prepares it again
	}
	if class, known := states()[pg.Code]; known {
		return class
	}
	if len(pg.Code) != 5 {
		return Unknown
	}
	if class, known := stateClasses()[pg.Code[:2]]; known {
		return class
	}
	return Unknown
}

func states() map[string]Class {
	return map[string]Class{
		"KF001": Fenced, "KF002": Fenced, "KF003": Fenced,
		"KF004": Transient, // the transaction was too old, the lease may be fine
		"KF005": NotAWorker, "KF006": OtherApplication, "KF007": GuardsIncomplete, "KF008": CatalogMismatch,
		"28000": Authentication, "28P01": Authentication,
		"42501": Permission,
		"3D000": DatabaseMissing,
		"3F000": SchemaMissing, "42P01": SchemaMissing, "42883": SchemaMissing, "42703": SchemaMissing,
		"25006": Outage, // a session left on a read-only node
		"25P02": Transient, "25P03": Transient, "25P04": Transient, "57014": Transient, "57P05": Transient,
		"26000": Transient, // the session behind a prepared statement is another one now
		"40001": Transient, "40P01": Transient, "55P03": Transient,
		"57P01": Outage, "57P02": Outage, "57P03": Outage, "57P04": DatabaseMissing,
	}
}

func stateClasses() map[string]Class {
	return map[string]Class{
		"08": Outage,
		"53": Outage, // too many connections, disk full, out of memory
		"58": Outage, // system error outside PostgreSQL
	}
}
