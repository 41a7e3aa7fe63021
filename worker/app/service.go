package app

import (
	"context"
	"io/fs"
	"net/http"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/migrate"
	"github.com/kesita/platform/worker/settings"
)

// migrationsDirectory is where a service's file system holds its migrations.
const migrationsDirectory = "migrations"

// Service describes one service. It is a value: the same one is run, migrated and asked for its version.
type Service struct {
	// Application owns the database, for example "kesita-product".
	Application string
	// Version is the compatibility version, for example "kesita-product-v1": work moves only between workers of the
	// same one (C5). Change it when running workflows cannot go on in the new code.
	Version string
	// Schema is the schema of the business tables.
	Schema string
	// Migrations holds the goose files in its directory "migrations", numbered from 2.
	Migrations fs.FS
	// Queues are the business queues that this service serves, each with QUEUE_CONCURRENCY workflows at a time (P5).
	Queues []string
	// Needs are variables of worker/settings that this service requires besides DATABASE_URL.
	Needs []string
	// CheckSettings tells what is wrong with the settings for this service beyond what package settings knows; nil: nothing
	// more is checked. It must be pure: it is called once, before anything is opened, and its faults are told together with
	// all others (H6). Fields that are at fault already are zero: it says nothing about them. Its error matches
	// boot.ErrConfiguration, one fault a line.
	CheckSettings func(s settings.Settings) error
	// Register makes the workflows known. It is called at every start-up attempt, with a fresh Worker, before anything
	// runs; its ctx ends with the attempt's caller, so it must not be kept. An error is judged like any other (H6).
	Register func(ctx context.Context, w *Worker) error
	// Settle returns what ends the business state of a workflow that lost its last allowed worker, as failed and without
	// executing it (P3). It is called after Register. nil: such workflows stay quarantined for an operator (P4).
	Settle func(w *Worker) quarantine.Hook
}

// Database is what the migration needs to know of the service.
func (s Service) Database() (migrate.Service, error) {
	migrations, err := fs.Sub(s.Migrations, migrationsDirectory)
	return migrate.Service{Application: s.Application, Schema: s.Schema, Migrations: migrations}, err
}

// Worker is what a service gets to build its workflows from: one attempt, one executor.
type Worker struct {
	// Runtime is the executor. A Worker is also a workflow.Registrar.
	Runtime *coordination.Runtime
	// Pool leads to the service's own database; every write through it is fenced (F1, F2).
	Pool *guard.Pool
	// HTTP is the client for outbound calls. It has limits for connecting and, as a last resort, for the whole
	// request; a caller sets its own shorter deadline.
	HTTP *http.Client
	// Settings is the process's configuration.
	Settings settings.Settings
	// Log writes lines that carry the executor's ID.
	Log *signal.Log

	checks []health.Check
	stops  []func()
}

// Host implements workflow.Registrar, so that workflow.Register takes the Worker.
func (w *Worker) Host() *workflow.Host { return w.Runtime.Host() }

// AddCheck adds a condition to /health/ready, beside the runtime's own (H3).
func (w *Worker) AddCheck(check health.Check) { w.checks = append(w.checks, check) }

// OnStop adds a function that gives back what Register opened. It is called once, after the workflows stopped or the
// attempt failed, the last added first, and must not block for long.
func (w *Worker) OnStop(stop func()) { w.stops = append(w.stops, stop) }
