package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	ossignal "os/signal"
	"syscall"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/advice"
	"github.com/kesita/platform/worker/migrate"
	"github.com/kesita/platform/worker/settings"
)

const usage = `usage: %[1]s              run the worker; its environment configures it
       %[1]s --health     exit 0 when the worker with this environment lives, else 1
       %[1]s --version    print version, revision, Go, SDK and catalog
       %[1]s migrate      bring the database to the current shape; DATABASE_URL is the owner's
`

// Main is a worker's whole main function: it returns the exit status. Without arguments it runs the service until
// SIGTERM, SIGINT or the end of ctx, and stops it in an orderly way; a second signal ends it at once. Statuses are
// those of package boot.
func Main(ctx context.Context, service Service, args, environ []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(service.Application, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { _, _ = fmt.Fprintf(stderr, usage, service.Application) }
	askHealth := flags.Bool("health", false, "")
	showVersion := flags.Bool("version", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return boot.ExitClean
	case err != nil:
		return boot.ExitUsage
	case *showVersion:
		_, _ = fmt.Fprintln(stdout, service.Application, ReadBuild())
		return boot.ExitClean
	case *askHealth:
		return reportHealth(ctx, service, environ, stderr)
	case flags.Arg(0) == "migrate":
		return runMigration(ctx, service, flags.Args()[1:], environ, stdout, stderr)
	case flags.NArg() > 0:
		flags.Usage()
		return boot.ExitUsage
	}
	return untilSignalled(ctx, func(ctx context.Context) int { return run(ctx, service, environ, stdout, stderr) })
}

// untilSignalled cancels body at the first signal and leaves it behind at the second.
func untilSignalled(ctx context.Context, body func(ctx context.Context) int) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 2)
	ossignal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer ossignal.Stop(signals)
	done := make(chan int, 1)
	go func() { done <- body(ctx) }()
	for range 2 {
		select {
		case code := <-done:
			return code
		case <-signals:
			cancel()
		}
	}
	return boot.ExitInternal
}

// reportHealth is for a container's health check. 1, not a status of sysexits, is what such checks expect.
func reportHealth(ctx context.Context, service Service, environ []string, stderr io.Writer) int {
	s, err := settings.Load(environ, service.Needs...)
	if err == nil {
		err = askLive(ctx, s)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: health: %v\n", service.Application, err)
		return 1
	}
	return boot.ExitClean
}

func runMigration(ctx context.Context, service Service, args, environ []string, stdout, stderr io.Writer) int {
	var logins migrate.Logins
	flags := flag.NewFlagSet(service.Application+" migrate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&logins.Worker, "worker-login", service.Schema+"_worker", "login of the workers")
	flags.StringVar(&logins.API, "api-login", service.Schema+"_api", "login of the API")
	flags.StringVar(&logins.Reader, "reader-login", service.Schema+"_reader", "login of those who only look")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return boot.ExitClean
	case err != nil || flags.NArg() > 0:
		return boot.ExitUsage
	}
	fail := func(err error) int {
		_, _ = io.WriteString(stderr, advice.Text(service.Application, "migrate", err))
		return advice.For(err).ExitCode
	}
	s, err := settings.Load(environ)
	if err != nil {
		return fail(err)
	}
	database, err := service.Database()
	if err != nil {
		return fail(err)
	}
	result, err := migrate.Run(ctx, migrate.Config{OwnerURL: s.DatabaseURL.Reveal(), Service: database, Logins: logins})
	if err != nil {
		return fail(err)
	}
	_, _ = fmt.Fprintf(stdout, "%s: %d new migrations, now at version %d\n", service.Application, len(result.Applied), result.Version)
	return boot.ExitClean
}
