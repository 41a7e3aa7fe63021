package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	ossignal "os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/demo/fleet"
	"github.com/kesita/platform/worker/demo/screen"
	"github.com/kesita/platform/worker/demo/texts"
	"github.com/kesita/platform/worker/localpg"
)

// Exit statuses beside those of package boot.
const (
	// ExitBroken: the run came to its end, and a rule did not hold.
	ExitBroken = 1
	// ExitInterrupted: it was told to end before that, as a shell counts SIGINT.
	ExitInterrupted = 130
)

// run is one demo.
type run struct {
	options  Options
	pace     pace
	screen   *screen.Screen
	http     *http.Client
	began    time.Time
	folder   string // temporary
	logs     string
	services []*service

	library     texts.Library
	documents   []document
	web         *web
	server      *localpg.Server
	provider    *fleet.Process
	providerURL string
	processes   crew
}

// Run runs the demo and returns the exit status: boot.ExitClean when every rule held, ExitBroken when one did not,
// ExitInterrupted when ctx ended first, boot.ExitUsage for what the user can correct, boot.ExitUnavailable when
// PostgreSQL or a process did not start, boot.ExitInternal otherwise. Nothing runs any more when it returns.
func Run(ctx context.Context, options Options) int {
	out := options.Stdout
	if options.JSON {
		out = options.Stderr
	}
	ctx, release := untilSignalled(ctx)
	defer release()
	r := &run{options: options, screen: screen.New(out, options.Environ), began: time.Now(), services: services()}
	code, err := r.run(ctx)
	r.screen.Done()
	if err != nil && code != ExitInterrupted {
		r.screen.Raw(r.screen.Paint(screen.Bad, "kesita demo: ") + err.Error())
	}
	r.clean(code)
	if code == ExitInterrupted { // only now is it true
		r.screen.Raw(r.screen.Paint(screen.Bad, "kesita demo: ") + err.Error())
	}
	return code
}

// untilSignalled ends with the first signal that asks the process to end. Later ones are swallowed until release: a
// second Ctrl-C must not interrupt the cleaning up, which is bounded.
func untilSignalled(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	ossignal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer cancel()
		select {
		case <-signals:
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		ossignal.Stop(signals)
		cancel()
	}
}

func (r *run) run(ctx context.Context) (int, error) {
	if err := r.prepare(ctx); err != nil {
		return statusOf(ctx, err)
	}
	report, err := r.play(ctx)
	if err != nil {
		return statusOf(ctx, err)
	}
	code := boot.ExitClean
	if !report.Held {
		code = ExitBroken
	}
	if r.options.JSON {
		if err := report.write(r.options.Stdout); err != nil {
			return boot.ExitInternal, err
		}
	}
	if r.options.Keep {
		r.keep(ctx, report.Search.Query)
	}
	return code, nil
}

// statusOf is the exit status of a run that did not come to its end.
func statusOf(ctx context.Context, err error) (int, error) {
	switch {
	case errors.Is(err, errUsage), errors.Is(err, texts.ErrFolder), errors.Is(err, texts.ErrEmpty):
		return boot.ExitUsage, err
	case ctx.Err() != nil:
		return ExitInterrupted, errInterrupted
	case errors.Is(err, localpg.ErrNoBinaries), errors.Is(err, fleet.ErrEnded), errors.Is(err, errNotReady):
		return boot.ExitUnavailable, err
	}
	return boot.ExitInternal, err
}

var errInterrupted = errors.New("interrupted; everything is stopped and removed")

// prepare checks everything that can be checked before something is started.
func (r *run) prepare(ctx context.Context) error {
	profile, err := parseTiming(r.profile())
	if err != nil {
		return err
	}
	r.pace = paceOf(profile)
	r.http = &http.Client{Timeout: profile.Connect, Transport: &http.Transport{DisableKeepAlives: true}}
	if r.folder, err = os.MkdirTemp("", "kesita-demo-"); err != nil {
		return fmt.Errorf("make temporary folder: %w", err)
	}
	if err := r.openLogs(); err != nil {
		return err
	}
	return r.openLibrary(ctx)
}

func (r *run) profile() string {
	if r.options.Timing == "" {
		return "demo"
	}
	return r.options.Timing
}

func (r *run) openLogs() error {
	r.logs = filepath.Join(r.folder, "logs")
	if r.options.Logs != "" {
		var err error
		if r.logs, err = filepath.Abs(r.options.Logs); err != nil {
			return fmt.Errorf("%w: folder for logs: %w", errUsage, err)
		}
	}
	if err := os.MkdirAll(r.logs, 0o700); err != nil {
		return fmt.Errorf("%w: folder for logs: %w", errUsage, err)
	}
	return nil
}

func (r *run) providerJournal() string { return filepath.Join(r.logs, "provider-journal.jsonl") }

// play is the scenario.
func (r *run) play(ctx context.Context) (report, error) {
	r.showStart()
	for _, stage := range []struct {
		title string
		doing string
		play  func(context.Context) error
		show  func(took time.Duration)
	}{
		{"Database", "starting PostgreSQL", r.startDatabases, r.showDatabases},
		{"Workers", "starting processes", r.startCrew, r.showCrew},
		{"Work", "submitting", r.submit, r.showWork},
		{"Kill", "waiting until replicas are in the middle of their work", r.strikeAll, r.showKills},
		{"Takeover", "waiting", r.awaitSettled, r.showSettled},
	} {
		r.screen.Section(stage.title)
		r.screen.Progress(0, 0, stage.doing)
		began := time.Now()
		err := stage.play(ctx)
		r.screen.Done()
		if err != nil {
			return report{}, fmt.Errorf("%s: %w", stage.title, err)
		}
		stage.show(time.Since(began))
	}
	if r.options.afterSettled != nil {
		if err := r.options.afterSettled(r); err != nil {
			return report{}, err
		}
	}
	collected, err := r.collect(ctx)
	if err != nil {
		return report{}, fmt.Errorf("read the evidence: %w", err)
	}
	published, err := r.summary(ctx)
	if err != nil {
		return report{}, fmt.Errorf("read the evidence: %w", err)
	}
	made := r.report(collected, published)
	r.showReport(made)
	return made, nil
}

// submit hands the documents to all services at the same time.
func (r *run) submit(ctx context.Context) error {
	var err error
	if r.web, err = startWeb(ctx, r.library, r.pace); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.services {
		s.evidence.Name = s.name
		group.Go(func() error { return s.submit(ctx, r, s) })
	}
	return group.Wait()
}

// strikeAll kills one replica of each service.
func (r *run) strikeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.pace.start, errNoMiddle)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.services {
		group.Go(func() (err error) {
			s.evidence.Kill, err = r.strike(ctx, s)
			return err
		})
	}
	return group.Wait()
}

// clean ends everything and removes what was made, whatever the run came to. It does not depend on the context that
// may have ended the run.
func (r *run) clean(code int) {
	ctx := context.Background()
	if list := r.processes.list(); len(list) > 0 {
		r.screen.Progress(0, 0, "stopping")
		r.processes.stop(ctx, r.pace.stop)
	}
	if r.web != nil {
		r.web.close()
	}
	for _, s := range r.services {
		if s.database != nil {
			s.database.close()
		}
	}
	if r.server != nil {
		r.keepServerLog()
		if err := r.server.Close(ctx); err != nil {
			r.screen.Raw("kesita demo: stop PostgreSQL: " + err.Error())
		}
	}
	r.screen.Done()
	r.removeFolder(code)
}

// keepServerLog saves the server's log, which goes with its folder.
func (r *run) keepServerLog() {
	if text, err := os.ReadFile(r.server.LogPath()); err == nil {
		_ = os.WriteFile(filepath.Join(r.logs, "postgresql.log"), text, 0o600) // a log less is no fault of the run
	}
}

// removeFolder removes everything, but for the logs of a run that failed, and says where those are.
func (r *run) removeFolder(code int) {
	if r.folder == "" {
		return
	}
	logged, _ := filepath.Glob(filepath.Join(r.logs, "*.log")) // the pattern is a constant
	failed := code != boot.ExitClean && code != ExitInterrupted
	stays := len(logged) > 0 && (failed || r.options.Logs != "")
	if stays {
		r.screen.Raw("logs of every process: " + r.logs)
	}
	entries, err := os.ReadDir(r.folder)
	for _, entry := range entries {
		if path := filepath.Join(r.folder, entry.Name()); !stays || path != r.logs {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if !stays || r.options.Logs != "" {
		err = errors.Join(err, os.Remove(r.folder))
	}
	if err != nil {
		r.screen.Raw("kesita demo: remove temporary folder: " + err.Error())
	}
}
