package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/settings"
)

const commonVariable = "DATABASE_URL"

// target is a service's database.
type target struct {
	name    string
	service app.Service
}

// targets are the services that the command line knows.
func targets() []target {
	return []target{productTarget(), corpusTarget()}
}

func productTarget() target { return target{"product", product.Service()} }

func corpusTarget() target { return target{"corpus", corpus.Service()} }

// variable is the environment variable of the service's own database URL.
func (t target) variable() string { return t.prefix() + commonVariable }

// prefix is what the names of the service's own variables begin with.
func (t target) prefix() string { return strings.ToUpper(t.name) + "_" }

// database is the flag of a command that works on one database.
type database struct {
	DatabaseURL string `placeholder:"URL" help:"The database. Default: PRODUCT_DATABASE_URL or CORPUS_DATABASE_URL, else DATABASE_URL."`
}

// of returns the URL of the service's database. It was parsed once, so that no later error can repeat it.
func (d database) of(s *session, t target) (string, error) {
	url := cmp.Or(d.DatabaseURL, s.environ[t.variable()], s.environ[commonVariable])
	if url == "" {
		return "", fmt.Errorf("%w: no database: set %s or %s", boot.ErrConfiguration, t.variable(), commonVariable)
	}
	return url, settings.CheckDatabase(url)
}

// located is a service's database and the way there.
type located struct {
	target target
	url    string
}

// all returns the one database that was named, or those of all services. The service of a database that was named
// without one is not known; it counts as the first.
func (d database) all(s *session) ([]located, error) {
	var places []located
	var faults []error
	for _, t := range targets() {
		if url := s.environ[t.variable()]; d.DatabaseURL == "" && url != "" {
			places, faults = append(places, located{t, url}), append(faults, settings.CheckDatabase(url))
		}
	}
	if len(places) > 0 {
		return places, errors.Join(faults...)
	}
	url, err := d.of(s, productTarget())
	return []located{{productTarget(), url}}, err
}

// poolSize is enough for one command: one transaction, one question beside it.
const poolSize = 2

// open connects to a database, with parameters of the sessions. What it returns is closed by the caller.
func open(ctx context.Context, url string, parameters map[string]string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("database url is not valid") // it was checked before
	}
	config.MaxConns = poolSize
	config.ConnConfig.ConnectTimeout = timing.Production().Connect
	config.ConnConfig.RuntimeParams["application_name"] = "kesita-command"
	maps.Copy(config.ConnConfig.RuntimeParams, parameters)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
