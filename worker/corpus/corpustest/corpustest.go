// Package corpustest gives tests a migrated corpus database of their own. Tests only. It fails the test when anything
// goes wrong.
package corpustest

import (
	"crypto/rand"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/migrate"
)

// Open returns a pool to a database with the tables only, as the server's superuser, who is no worker and therefore
// unguarded (F4). The package's TestMain must call localpgtest.Main.
func Open(t testing.TB) *pgxpool.Pool {
	t.Helper()
	_, url := localpgtest.Database(t, localpgtest.Shared(t))
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := schema.Apply(t.Context(), tx, corpus.Application); err != nil {
			return err
		}
		statements, err := fs.ReadFile(corpus.Migrations, "migrations/00002_corpus.sql")
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), string(statements))
		return err
	})
	require.NoError(t, err)
	return pool
}

// Service is a corpus database as in production: migrated by its owner, with the logins of each kind.
type Service struct {
	// Pool is open for the api login, which is no worker.
	*pgxpool.Pool
	// AdminURL, WorkerURL and APIURL lead to the database with those logins.
	AdminURL, WorkerURL, APIURL string
}

// Deploy creates the database and its logins and runs the migration. The database lives as long as the shared server.
func Deploy(t testing.TB) Service {
	t.Helper()
	server := localpgtest.Shared(t)
	name := "corpus_" + strings.ToLower(rand.Text()[:12])
	login := func(kind string) migrate.Login { return migrate.Login{Name: name + "_" + kind, Password: "secret"} }
	bootstrap := migrate.Bootstrap{
		AdminURL: server.AdminURL("postgres"), Database: name,
		Owner: login("owner"), Worker: login("worker"), API: login("api"), Reader: login("reader"),
	}
	require.NoError(t, bootstrap.Create(t.Context()))
	database, err := corpus.Service().Database()
	require.NoError(t, err)
	_, err = migrate.Run(t.Context(), migrate.Config{
		OwnerURL: server.URL(bootstrap.Owner.Name, "secret", name), Service: database,
		Logins: migrate.Logins{Worker: bootstrap.Worker.Name, API: bootstrap.API.Name, Reader: bootstrap.Reader.Name},
	})
	require.NoError(t, err)
	s := Service{
		AdminURL: server.AdminURL(name), WorkerURL: server.URL(bootstrap.Worker.Name, "secret", name),
		APIURL: server.URL(bootstrap.API.Name, "secret", name),
	}
	s.Pool, err = pgxpool.New(t.Context(), s.APIURL)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// Job reads a job.
func (s Service) Job(t testing.TB, id string) index.Job {
	t.Helper()
	job, err := index.Status(t.Context(), s, id)
	require.NoError(t, err)
	return job
}
