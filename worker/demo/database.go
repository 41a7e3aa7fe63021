package demo

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/localpg"
	"github.com/kesita/platform/worker/migrate"
)

// database is one service's database with its logins, as an administrator and a migration make it (K1, K2).
type database struct {
	name   string
	logins migrate.Bootstrap
	server *localpg.Server
	// reader looks at it, api submits work. Neither is a worker login.
	reader, api *pgxpool.Pool
}

func newDatabase(server *localpg.Server, schema string) *database {
	name := "kesita_" + schema
	login := func(kind string) migrate.Login {
		return migrate.Login{Name: schema + "_" + kind, Password: rand.Text()}
	}
	return &database{name: name, server: server, logins: migrate.Bootstrap{
		AdminURL: server.AdminURL(localpg.Superuser), Database: name,
		Owner: login("migrator"), Worker: login("worker"), API: login("api"), Reader: login("reader"),
	}}
}

func (d *database) url(login migrate.Login) string {
	return d.server.URL(login.Name, login.Password, d.name)
}

// create makes database and logins, migrates, and opens the pools.
func (d *database) create(ctx context.Context, service app.Service) error {
	if err := d.logins.Create(ctx); err != nil {
		return fmt.Errorf("create database %s: %w", d.name, err)
	}
	description, err := service.Database()
	if err != nil {
		return fmt.Errorf("read migrations of %s: %w", d.name, err)
	}
	_, err = migrate.Run(ctx, migrate.Config{
		OwnerURL: d.url(d.logins.Owner), Service: description,
		Logins: migrate.Logins{Worker: d.logins.Worker.Name, API: d.logins.API.Name, Reader: d.logins.Reader.Name},
	})
	if err != nil {
		return fmt.Errorf("migrate %s: %w", d.name, err)
	}
	if d.reader, err = pgxpool.New(ctx, d.url(d.logins.Reader)); err != nil {
		return fmt.Errorf("open %s for reading: %w", d.name, err)
	}
	if d.api, err = pgxpool.New(ctx, d.url(d.logins.API)); err != nil {
		return fmt.Errorf("open %s for submissions: %w", d.name, err)
	}
	return nil
}

func (d *database) close() {
	for _, pool := range []*pgxpool.Pool{d.reader, d.api} {
		if pool != nil {
			pool.Close()
		}
	}
}

// startDatabases starts the server and makes both databases at the same time.
func (r *run) startDatabases(ctx context.Context) error {
	var err error
	r.server, err = localpg.Start(ctx, localpg.Options{
		Progress: func(step string) { r.screen.Progress(0, 0, step) },
	})
	if err != nil {
		return err
	}
	r.screen.Progress(0, 0, "making and migrating the databases")
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.services {
		s.database = newDatabase(r.server, s.service.Schema)
		group.Go(func() error { return s.database.create(ctx, s.service) })
	}
	return group.Wait()
}
