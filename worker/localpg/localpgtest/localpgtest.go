// Package localpgtest gives tests one PostgreSQL server a test binary and one
// database a test. Tests only.
//
// It owns the shared server from the first Shared to the end of Main. Logins
// belong to the server, not to a database: a test that creates one gives it a
// name of its own (the database's name is unique). Its answer to failure is to
// fail the test: none is ever skipped for want of a server.
package localpgtest

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/localpg"
)

//go:embed create_database.sql
var createDatabase string

//go:embed drop_database.sql
var dropDatabase string

// shared is the server of this test binary.
//
//policy:allow one server a test binary: its life is that of the process, and TestMain has nothing to pass it to tests with
var shared struct {
	sync.Mutex
	managed bool
	server  *localpg.Server
	err     error
}

// Main runs a package's tests and ends the shared server, if a test started
// it. Checks run after that; an error of one (a goroutine leak, say) makes the
// exit status 1. Use:
//
//	func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m)) }
func Main(m *testing.M, checks ...func() error) int {
	shared.Lock()
	shared.managed = true
	shared.Unlock()
	code := m.Run()
	for _, check := range append([]func() error{end}, checks...) {
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// Shared is the test binary's server, started by the first caller. It has
// localpg's defaults, 300 connections and room for 20 prepared transactions. A test that stops it
// disturbs the others: use localpg.Start for that.
func Shared(t testing.TB) *localpg.Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		t.Fatal("localpgtest.Shared needs localpgtest.Main in TestMain: nobody would end the server")
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = localpg.Start(context.Background(), localpg.Options{QuickLogins: true, Settings: map[string]string{
			"max_connections":           "300",
			"max_prepared_transactions": "20",
		}})
	}
	if shared.err != nil {
		t.Fatalf("start the shared PostgreSQL server: %v", shared.err)
	}
	return shared.server
}

// Database creates an empty database and answers its name and the superuser's
// URL. It is dropped, sessions and all, when the test ends.
func Database(t testing.TB, server *localpg.Server) (name, adminURL string) {
	t.Helper()
	name = "test_" + strings.ToLower(rand.Text()[:12])
	run(t, server, createDatabase, name)
	t.Cleanup(func() { run(t, server, dropDatabase, name) })
	return name, server.AdminURL(name)
}

func run(t testing.TB, server *localpg.Server, statement, name string) {
	t.Helper()
	ctx := context.Background() // t.Context() has ended when cleanups run
	connection, err := pgx.Connect(ctx, server.AdminURL(localpg.Superuser))
	if err != nil {
		t.Fatalf("connect to the shared PostgreSQL server: %v", err)
	}
	defer func() { _ = connection.Close(ctx) }()
	if _, err := connection.Exec(ctx, strings.ReplaceAll(statement, "{{name}}", pgx.Identifier{name}.Sanitize())); err != nil {
		t.Fatalf("database %s: %v", name, err)
	}
}

func end() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		return nil
	}
	return shared.server.Close(context.Background())
}
