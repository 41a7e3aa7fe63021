package producttest

import (
	"crypto/rand"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/migrate"
	"github.com/kesita/platform/worker/product"
)

// Service is a product database as in production: migrated by its owner, with
// the logins of each kind.
type Service struct {
	// Database is open for the api login, which is no worker.
	Database
	// WorkerURL and APIURL lead to the database with those logins.
	WorkerURL, APIURL string
}

// Deploy creates the database and its logins and runs the migration. The
// database lives as long as the shared server.
func Deploy(t testing.TB) Service {
	t.Helper()
	server := localpgtest.Shared(t)
	name := "product_" + strings.ToLower(rand.Text()[:12])
	login := func(kind string) migrate.Login { return migrate.Login{Name: name + "_" + kind, Password: "secret"} }
	bootstrap := migrate.Bootstrap{
		AdminURL: server.AdminURL("postgres"), Database: name,
		Owner: login("owner"), Worker: login("worker"), API: login("api"), Reader: login("reader"),
	}
	require.NoError(t, bootstrap.Create(t.Context()))
	files, err := fs.Sub(product.Migrations, "migrations")
	require.NoError(t, err)
	_, err = migrate.Run(t.Context(), migrate.Config{
		OwnerURL: server.URL(bootstrap.Owner.Name, "secret", name),
		Service:  migrate.Service{Application: product.Application, Schema: "product", Migrations: files},
		Logins:   migrate.Logins{Worker: bootstrap.Worker.Name, API: bootstrap.API.Name, Reader: bootstrap.Reader.Name},
	})
	require.NoError(t, err)
	s := Service{
		WorkerURL: server.URL(bootstrap.Worker.Name, "secret", name),
		APIURL:    server.URL(bootstrap.API.Name, "secret", name),
	}
	pool, err := pgxpool.New(t.Context(), s.APIURL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s.Database = Database{Pool: pool, Name: name, URL: s.APIURL}
	return s
}
