package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/caarlos0/env/v11"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/advice"
)

const (
	exitFailedWork  = 1
	exitInterrupted = 130
)

// line is the whole command line.
type line struct {
	Help   helpFlag `short:"h" help:"Show what a command takes."`
	Output string   `short:"o" enum:"text,json" default:"text" help:"text for people, json for scripts: one document on standard output."`

	Migrate migrateCommand `cmd:"" help:"Bring a service's database to the current shape. The login is the owner's."`
	Corpus  struct {
		Add    corpusAddCommand    `cmd:"" help:"Index files, folders or web pages, one job a source."`
		Status corpusStatusCommand `cmd:"" help:"Show a job and the documents that it refused."`
		Search corpusSearchCommand `cmd:"" help:"Search the indexed text."`
	} `cmd:"" help:"Work of the corpus service."`
	Task struct {
		Submit taskSubmitCommand `cmd:"" help:"Submit a document to be summarised."`
		Status taskStatusCommand `cmd:"" help:"Show a task and, when it is done, its summary."`
	} `cmd:"" help:"Work of the product service."`
	Executors struct {
		List   executorsCommand `cmd:"" default:"withargs" help:"List the leases of the workers, the most recently renewed first."`
		Revoke revokeCommand    `cmd:"" help:"Take an executor out and have its work moved. The login is the owner's."`
	} `cmd:"" help:"Leases of the workers."`
	Doctor     doctorCommand      `cmd:"" help:"Prove the fence of a live database and list work that nobody will move."`
	Explain    explainCommand     `cmd:"" help:"Say why a workflow does not move, and what would move it."`
	Quarantine quarantineCommands `cmd:"" help:"Work that lost its last allowed worker, or that no worker knows."`
	Demo       demoCommand        `cmd:"" help:"Run the whole platform on this machine, kill replicas, and show that nothing is lost."`
	Worker     workerCommand      `cmd:"" hidden:"" passthrough:"" help:"Run a worker process."`
	Provider   providerCommand    `cmd:"" hidden:"" passthrough:"" help:"Run the summary provider."`
	Version    versionCommand     `cmd:"" help:"Show version, revision, Go, SDK and catalog."`
}

// Main runs one command and returns the exit status. SIGINT and SIGTERM cancel it; a second one ends the process.
func Main(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	s := &session{environ: env.ToMap(environ), in: stdin, out: stdout, err: stderr}
	var l line
	parser, err := kong.New(&l, kong.Name("kesita"), kong.Writers(stdout, stderr), kong.NoDefaultHelp(),
		kong.Description("The Kesita worker platform. Database URLs come from flags or from the environment, and are never shown."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Bind(s), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return s.tell("command line", err, 0)
	}
	parsed, err := parser.Parse(args)
	switch {
	case errors.Is(err, errHelp):
		return boot.ExitClean
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "kesita: %v\n  hint: kesita --help\n", err)
		return boot.ExitUsage
	}
	s.json = l.Output == "json"
	err = parsed.Run()
	var f failure
	var status exitStatus
	switch {
	case err == nil:
		return boot.ExitClean
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "kesita: interrupted")
		return exitInterrupted
	case errors.As(err, &f):
		return s.tell(f.what, f.err, f.code)
	}
	return s.tell(parsed.Command(), err, 0)
}

// failure is an error of a command, with what was attempted. Code 0 leaves the status to package advice.
type failure struct {
	what string
	err  error
	code int
}

func (f failure) Error() string { return f.what + ": " + f.err.Error() }

func (f failure) Unwrap() error { return f.err }

// refused is the failure of input that can never be accepted.
func refused(what string, err error) error { return failure{what, err, boot.ExitUsage} }

// session is one run of the command line.
type session struct {
	environ  map[string]string
	in       io.Reader
	out, err io.Writer
	json     bool
}

// tell writes why the command failed and returns the exit status.
func (s *session) tell(what string, err error, code int) int {
	if code != 0 {
		_, _ = fmt.Fprintf(s.err, "kesita: %s: %s\n", what, printable(err.Error()))
		return code
	}
	_, _ = io.WriteString(s.err, advice.Text("kesita", what, err))
	return advice.For(err).ExitCode
}

// errHelp ends parsing after the help was shown.
var errHelp = errors.New("help was asked for")

type helpFlag bool

// BeforeReset implements kong's hook: help is shown whatever else is missing.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelp
}
