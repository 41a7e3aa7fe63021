package provider

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Exit codes of Main (sysexits).
const (
	exitClean         = 0
	exitUsage         = 64
	exitUnavailable   = 69 // the address cannot be listened on
	exitInternal      = 70
	exitConfiguration = 78 // the journal file cannot be opened
)

// options are the command line. Its durations have their defaults as text
// here, because they are settings of this process and no promise of the runtime.
type options struct {
	address       string
	journal       string
	readTimeout   time.Duration
	shutdownGrace time.Duration
	limits        Limits
	faults        Faults
}

// Main runs the provider until ctx ends, then lets the requests in progress
// finish, and returns the exit code. Its one line on stdout, written when it
// listens, is a JSON object with "address" (host:port) and "url".
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	settings, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitClean
	}
	if err != nil {
		log.Error("provider options", "error", err.Error())
		return exitUsage
	}
	journal, err := openJournal(settings.journal)
	if err != nil {
		log.Error("provider journal", "error", err.Error())
		return exitConfiguration
	}
	defer func() { _ = journal.Close() }()
	server, err := New(Config{Limits: settings.limits, Faults: settings.faults, Journal: journal, Log: log})
	if err != nil {
		log.Error("provider options", "error", err.Error())
		return exitUsage
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", settings.address)
	if err != nil {
		log.Error("provider listen", "error", err.Error())
		return exitUnavailable
	}
	if err := announce(stdout, listener.Addr().String()); err != nil {
		log.Error("provider announce", "error", err.Error())
		return exitInternal
	}
	if err := serve(ctx, server, listener, settings); err != nil {
		log.Error("provider serve", "error", err.Error())
		return exitInternal
	}
	return exitClean
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var faults []error
	flags := flag.NewFlagSet("provider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	duration := func(target *time.Duration, name, standard, usage string) {
		value, err := time.ParseDuration(standard)
		if err != nil {
			faults = append(faults, fmt.Errorf("default of %s: %w", name, err))
		}
		flags.DurationVar(target, name, value, usage)
	}
	flags.StringVar(&o.address, "address", "127.0.0.1:0", "host:port to listen on; port 0 takes a free one")
	flags.StringVar(&o.journal, "journal", "", "file to append one line for each execution and replay to")
	flags.Int64Var(&o.limits.BodyBytes, "body-bytes", 32<<20, "largest request body, bytes")
	flags.IntVar(&o.limits.Concurrent, "concurrent", 16, "summary requests in progress; more are refused with 429")
	flags.IntVar(&o.limits.Receipts, "receipts", 100_000, "idempotency keys that are remembered")
	duration(&o.limits.RetryAfter, "retry-after", "1s", "what a refused caller is asked to wait")
	duration(&o.readTimeout, "read-timeout", "30s", "longest time for reading a request, and for an idle connection")
	duration(&o.shutdownGrace, "shutdown-grace", "10s", "longest wait for requests in progress at the end")
	duration(&o.faults.Delay, "delay", "0s", "fault: wait between the execution and the answer")
	flags.IntVar(&o.faults.FailFirst, "fail-first", 0, "fault: answer the first `N` requests with 503")
	flags.IntVar(&o.faults.DropFirst, "drop-first", 0, "fault: execute the first `N` requests and cut the connection")
	flags.BoolVar(&o.faults.Nonsense, "nonsense", false, "fault: answer garbage")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	return o, errors.Join(faults...)
}

// openJournal opens the file for appending; an empty path gives a sink.
func openJournal(path string) (io.WriteCloser, error) {
	if path == "" {
		path = os.DevNull
	}
	file, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return file, nil
}

func announce(stdout io.Writer, address string) error {
	return json.NewEncoder(stdout).Encode(map[string]string{"address": address, "url": "http://" + address})
}

// serve returns nil after an orderly stop, or why serving or stopping did not
// work. Requests that outlast the grace are cut.
func serve(ctx context.Context, handler http.Handler, listener net.Listener, settings options) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: settings.readTimeout, IdleTimeout: settings.readTimeout,
		MaxHeaderBytes: 16 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.shutdownGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish requests: %w", err), server.Close())
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
