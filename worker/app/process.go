package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/health"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/worker/advice"
	"github.com/kesita/platform/worker/settings"
)

// process is one life of a worker's process.
type process struct {
	service  Service
	settings settings.Settings
	config   coordination.Config
	log      *signal.Log
	health   *health.Health
	stderr   io.Writer
}

// run is the worker's life; it returns the exit status. ctx ends with the first signal.
func run(ctx context.Context, service Service, environ []string, stdout, stderr io.Writer) int {
	p, err := prepare(service, environ, stdout)
	p.stderr = stderr
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		p.log.Error(ctx, signal.Startup, signal.Configuration, slog.Any("faults", lines))
		return p.refuse("configuration", err)
	}
	site, err := listen(ctx, p.settings, p.health.Handler())
	if err != nil {
		p.log.Error(ctx, signal.Startup, signal.Configuration, signal.Fault(err))
		if errors.Is(err, syscall.EADDRINUSE) {
			_ = p.refuse("start", err)
			return boot.ExitUnavailable
		}
		return p.refuse("start", fmt.Errorf("%w: %w", boot.ErrConfiguration, err))
	}
	defer site.close()
	p.log.Info(ctx, signal.Startup, signal.NotReady, slog.String("http_address", site.address))
	worker, err := p.start(ctx)
	switch {
	case worker != nil:
		return p.serve(ctx, worker, site.failed)
	case ctx.Err() != nil:
		p.log.Info(ctx, signal.Shutdown, signal.Requested)
		return boot.ExitClean
	}
	return p.refuse("start", err)
}

// prepare reads and checks everything that can be checked without opening anything. The error holds all faults, one a
// line. A process is returned in any case, so that the faults can be logged.
func prepare(service Service, environ []string, stdout io.Writer) (*process, error) {
	s, faults := settings.Load(environ, service.Needs...)
	build, logger := ReadBuild(), signal.JSON(stdout, s.LogLevel)
	p := &process{service: service, settings: s, log: signal.New(logger)}
	p.health = health.New(p.log, s.Timing.LeaseCheck)
	p.config = coordination.Config{
		Application: service.Application, Version: service.Version, BuildVersion: build.Version, BuildRevision: build.Revision,
		DatabaseURL: s.DatabaseURL.Reveal(), Timing: s.Timing, Logger: logger, JournalConnections: s.JournalConnections, Environ: environ,
	}
	return p, errors.Join(faults, p.checkService(), p.checkQueues(), checkRuntime(p.config))
}

// checkService asks the service about the settings.
func (p *process) checkService() error {
	if p.service.CheckSettings == nil {
		return nil
	}
	return p.service.CheckSettings(p.settings)
}

// checkQueues relates the settings to the service's queues.
func (p *process) checkQueues() error {
	const spare = 4 // the SDK's listener, the private queue, and room for checkpoints
	switch needed := len(p.service.Queues) + spare; {
	case p.service.Register == nil || len(p.service.Queues) == 0:
		return fmt.Errorf("%w: service %s has no queue or no Register", boot.ErrConfiguration, p.service.Application)
	case p.settings.JournalConnections != 0 && int(p.settings.JournalConnections) < needed:
		return settings.Faults{{Variable: "JOURNAL_CONNECTIONS", Problem: "is too small for the queues of this service", Instead: fmt.Sprint("at least ", needed)}}
	}
	return nil
}

// checkRuntime adds what only the runtime knows, above all the refused variables of the SDK (C5). What settings found
// wrong already is not told twice.
func checkRuntime(config coordination.Config) error {
	if config.DatabaseURL == "" {
		config.DatabaseURL = "postgres://localhost"
	}
	if config.Timing == (coordination.Timing{}) {
		config.Timing = coordination.ProductionTiming()
	}
	return config.Validate()
}

// refuse tells a person why the process ends and returns the exit status.
func (p *process) refuse(what string, err error) int {
	_, _ = io.WriteString(p.stderr, advice.Text(p.service.Application, what, err))
	return advice.For(err).ExitCode
}
