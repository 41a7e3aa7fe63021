package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/migrate"
)

type migrateCommand struct {
	database
	Service     string `default:"all" help:"product, corpus or all. all needs PRODUCT_DATABASE_URL and CORPUS_DATABASE_URL."`
	WorkerLogin string `placeholder:"LOGIN" help:"Login of the workers. Default: the schema's name and _worker."`
	APILogin    string `name:"api-login" placeholder:"LOGIN" help:"Login of the API. Default: the schema's name and _api."`
	ReaderLogin string `placeholder:"LOGIN" help:"Login of those who only look. Default: the schema's name and _reader."`
}

// migrated is what the command prints.
type migrated struct {
	Services []migratedService `json:"services"`
}

type migratedService struct {
	Service     string `json:"service"`
	Application string `json:"application"`
	// Applied are the migrations that were new, by file name.
	Applied []string `json:"applied"`
	// Version is the number of the last migration.
	Version int64 `json:"version"`
}

// Run implements kong's command.
func (c migrateCommand) Run(ctx context.Context, s *session) error {
	chosen, err := c.chosen(s)
	if err != nil {
		return err
	}
	urls := make([]string, len(chosen))
	for i, t := range chosen { // before anything is changed
		if urls[i], err = c.of(s, t); err != nil {
			return failure{what: "migrate " + t.name, err: err}
		}
	}
	done := migrated{Services: []migratedService{}}
	for i, t := range chosen {
		one, err := c.migrate(ctx, s, t, urls[i])
		if err != nil {
			return failure{what: "migrate " + t.name, err: err}
		}
		done.Services = append(done.Services, one)
	}
	return s.print(done)
}

func (c migrateCommand) chosen(s *session) ([]target, error) {
	if c.Service == "all" {
		for _, t := range targets() {
			if c.DatabaseURL != "" || s.environ[t.variable()] == "" {
				return nil, failure{
					what: "migrate all", code: boot.ExitConfiguration,
					err: fmt.Errorf("every service has a database of its own: set %s, or choose one --service", t.variable()),
				}
			}
		}
		return targets(), nil
	}
	i := slices.IndexFunc(targets(), func(t target) bool { return t.name == c.Service })
	if i < 0 {
		return nil, refused("migrate", fmt.Errorf("no service %q", printable(c.Service)))
	}
	return targets()[i : i+1], nil
}

func (c migrateCommand) migrate(ctx context.Context, s *session, t target, url string) (migratedService, error) {
	waiting := s.progress("migrating "+t.name, -1)
	defer waiting.finish()
	described, err := t.service.Database()
	if err != nil {
		return migratedService{}, err
	}
	result, err := migrate.Run(ctx, migrate.Config{OwnerURL: url, Service: described, Logins: migrate.Logins{
		Worker: cmp.Or(c.WorkerLogin, t.service.Schema+"_worker"),
		API:    cmp.Or(c.APILogin, t.service.Schema+"_api"),
		Reader: cmp.Or(c.ReaderLogin, t.service.Schema+"_reader"),
	}})
	if err != nil {
		return migratedService{}, err
	}
	return migratedService{
		Service: t.name, Application: t.service.Application,
		Applied: append([]string{}, result.Applied...), Version: result.Version,
	}, nil
}

func (m migrated) text(out io.Writer) {
	for _, one := range m.Services {
		_, _ = fmt.Fprintf(out, "%s: %d new migrations, now at version %d\n", one.Service, len(one.Applied), one.Version)
	}
}
