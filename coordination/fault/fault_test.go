package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
)

func state(code, message string) error {
	return &pgconn.PgError{Severity: "ERROR", Code: code, Message: message}
}

// H5, H6: what each SQLSTATE means.
func TestEverySQLStateHasOneMeaning(t *testing.T) {
	t.Parallel()
	for class, codes := range map[fault.Class][]string{
		fault.Fenced:           {"KF001", "KF002", "KF003"},
		fault.NotAWorker:       {"KF005"},
		fault.OtherApplication: {"KF006"},
		fault.GuardsIncomplete: {"KF007"},
		fault.CatalogMismatch:  {"KF008"},
		fault.Authentication:   {"28000", "28P01"},
		fault.Permission:       {"42501"},
		fault.DatabaseMissing:  {"3D000", "57P04"},
		fault.SchemaMissing:    {"3F000", "42P01", "42883", "42703"},
		fault.Outage: {
			"08000", "08001", "08003", "08004", "08006", "08P01", // connection
			"25006",                                     // read-only node
			"53000", "53100", "53200", "53300", "53400", // resources
			"57P01", "57P02", "57P03", // stopping, crashed, starting
			"58000", "58030", // operating system
		},
		fault.Transient: {
			"KF004", "25P02", "25P03", "25P04", "26000", "40001", "40P01", "55P03", "57014", "57P05",
		},
		fault.Unknown: {"22P02", "23505", "23503", "P0001", "XX000", "42601", "0A000", "KF009", "", "8", "ZZZZZZ"},
	} {
		for _, code := range codes {
			require.Equal(t, class, fault.Of(state(code, "text")), code)
			require.Equal(t, class, fault.Of(fmt.Errorf("renew lease: %w", state(code, "text"))), code)
			heals := class == fault.Outage || class == fault.Transient
			require.Equal(t, heals, fault.Heals(state(code, "text")), code)
			require.Equal(t, heals || class == fault.Fenced, fault.Infrastructure(state(code, "text")), code)
		}
	}
}

// K2, H6: a pooler says 08P01 for everything; only one text means that it drops the identity.
func TestAPoolerThatDropsTheIdentityIsNotTakenForAnOutage(t *testing.T) {
	t.Parallel()
	require.Equal(t, fault.IdentityLost, fault.Of(state("08P01", "unsupported startup parameter: kesita.executor_id")))
	require.Equal(t, fault.Outage, fault.Of(state("08P01", "server login has been failing, try again later")))
}

// A migration under a running worker must not become a workflow's failure.
func TestAPlanThatAMigrationMadeInvalidIsTransient(t *testing.T) {
	t.Parallel()
	require.Equal(t, fault.Transient, fault.Of(state("0A000", "cached plan must not change result type")))
}

// What is not an SQLSTATE. Only what the database's own connection said counts as an outage: a step's file, HTTP stream
// or deadline says nothing about the platform.
func TestNetworkDriverAndContextErrorsAreClassified(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	database := func(err error) error { return &fault.ConnectionError{Err: err} }
	for name, c := range map[string]struct {
		err   error
		class fault.Class
		heals bool
	}{
		"nothing":                        {nil, fault.None, false},
		"database reset":                 {database(reset), fault.Outage, true},
		"database end of file":           {fmt.Errorf("receive: %w", database(io.EOF)), fault.Outage, true},
		"database unexpected end":        {database(io.ErrUnexpectedEOF), fault.Outage, true},
		"database timeout":               {database(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), fault.Outage, true},
		"joined":                         {errors.Join(errors.New("first"), database(reset)), fault.Outage, true},
		"driver closed the connection":   {pgconn.ErrConnClosed, fault.Outage, true},
		"a step's own reset":             {fmt.Errorf("post summary: %w", reset), fault.Unknown, false},
		"a step's own end of file":       {fmt.Errorf("read document: %w", io.ErrUnexpectedEOF), fault.Unknown, false},
		"deadline of the caller":         {context.DeadlineExceeded, fault.Unknown, false},
		"wrapped deadline of the caller": {fmt.Errorf("step: %w", context.DeadlineExceeded), fault.Unknown, false},
		"cancelled by the caller":        {context.Canceled, fault.Unknown, false},
		"business":                       {errors.New("sold out"), fault.Unknown, false},
		"text that looks like one":       {errors.New("the document says: conn closed"), fault.Unknown, false},
		"no rows":                        {pgx.ErrNoRows, fault.Unknown, false},
	} {
		require.Equal(t, c.class, fault.Of(c.err), name)
		require.Equal(t, c.heals, fault.Heals(c.err), name)
		require.Equal(t, c.heals, fault.Infrastructure(c.err), name)
	}
}

// The errors of the real driver, made on purpose.
func TestRealDriverErrorsAreClassified(t *testing.T) {
	t.Parallel()
	_, err := pgx.ParseConfig("postgres://worker:secret@host:port/db")
	require.Equal(t, fault.Configuration, fault.Of(err))

	refused := "postgres://worker@127.0.0.1:1/db"
	_, err = pgx.Connect(t.Context(), refused)
	require.Equal(t, fault.Outage, fault.Of(err))
	require.True(t, fault.Heals(err))

	pool, err := pgxpool.New(t.Context(), refused)
	require.NoError(t, err)
	pool.Close()
	require.Equal(t, fault.Outage, fault.Of(pool.Ping(t.Context())))

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = pgx.Connect(cancelled, refused)
	require.False(t, fault.Heals(err), "its owner gave up: %v", err)
}

// H6: what the server answers to a login stands inside the connect error and wins over it.
func TestALoginThatTheServerRefusesIsNoOutage(t *testing.T) {
	t.Parallel()
	for code, class := range map[string]fault.Class{
		"28P01": fault.Authentication, "3D000": fault.DatabaseMissing, "42501": fault.Permission,
		"53300": fault.Outage, "57P03": fault.Outage,
	} {
		_, err := pgx.Connect(t.Context(), "postgres://worker@"+refuse(t, code)+"/db?sslmode=disable")
		var connect *pgconn.ConnectError
		require.ErrorAs(t, err, &connect)
		require.Equal(t, class, fault.Of(err), code)
	}
}

// A server that never answers is bounded by the connection's own limit, and that is an outage.
func TestASilentServerIsAnOutage(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	config, err := pgx.ParseConfig("postgres://worker@" + listener.Addr().String() + "/db?sslmode=disable")
	require.NoError(t, err)
	config.ConnectTimeout = 50 * time.Millisecond
	_, err = pgx.ConnectConfig(t.Context(), config)
	require.Equal(t, fault.Outage, fault.Of(err))
	require.True(t, fault.Heals(err))
}

// refuse is the address of a server that answers each login with the given SQLSTATE.
func refuse(t *testing.T, code string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1024))
			body := "SFATAL\x00C" + code + "\x00Mrefused\x00\x00"
			_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(len(body) + 4)}, body...))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
