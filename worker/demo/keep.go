package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kesita/platform/worker/demo/screen"
)

// keep leaves everything running until ctx ends: it starts a replica again when it ended, as a supervisor would, and
// says how to play with the rest.
func (r *run) keep(ctx context.Context, query string) {
	r.screen.Section("Still running; Ctrl-C ends it and removes everything")
	for _, s := range r.services {
		for i := range s.replicas {
			if !s.replicas[i].Alive() {
				r.startAgain(ctx, s, i)
			}
		}
	}
	path, err := r.writeEnvironment()
	if err != nil {
		r.screen.Raw("kesita demo: " + err.Error())
		return
	}
	r.showCommands(path, query)
	var supervised sync.WaitGroup
	for _, s := range r.services {
		for i := range s.replicas {
			supervised.Go(func() { r.supervise(ctx, s, i) })
		}
	}
	supervised.Wait()
	<-ctx.Done()
}

// supervise starts one replica again whenever it ended, until ctx ends or a start fails.
func (r *run) supervise(ctx context.Context, s *service, i int) {
	for {
		w := s.replicas[i]
		select {
		case <-ctx.Done():
			return
		case <-w.Exited():
		}
		if ctx.Err() != nil {
			return
		}
		r.screen.Line("%s ended: %s", w.Name(), w.Status())
		if !r.startAgain(ctx, s, i) {
			return
		}
	}
}

// startAgain replaces one replica by a fresh process of the same name.
func (r *run) startAgain(ctx context.Context, s *service, i int) bool {
	ctx, cancel := context.WithTimeout(ctx, r.pace.start)
	defer cancel()
	fresh, err := r.startReplica(ctx, s, s.replicas[i].Name())
	if err != nil {
		if ctx.Err() == nil {
			r.screen.Raw("kesita demo: start " + s.replicas[i].Name() + " again: " + err.Error())
		}
		return false
	}
	s.replicas[i] = fresh
	r.screen.Line("%s started again: pid %d, %s, executor %s", fresh.Name(), fresh.PID(), fresh.url(), fresh.executorID)
	return true
}

// writeEnvironment writes what a shell needs for the commands: the program, and the databases with their API logins.
func (r *run) writeEnvironment() (path string, err error) {
	var text strings.Builder
	for _, s := range r.services {
		fmt.Fprintf(&text, "export %s_DATABASE_URL=%s\n", strings.ToUpper(s.name), quoted(s.database.url(s.database.logins.API)))
	}
	program := make([]string, 0, len(r.options.Program))
	for _, word := range r.options.Program {
		program = append(program, quoted(word))
	}
	fmt.Fprintf(&text, "kesita() { %s \"$@\"; }\n", strings.Join(program, " "))
	path = filepath.Join(r.folder, "environment")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return "", fmt.Errorf("write environment: %w", err)
	}
	return path, nil
}

// quoted is a word as a shell takes it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// showCommands prints commands that work as they stand, after the first one.
func (r *run) showCommands(environment, query string) {
	victim, sleeper := r.services[0].replicas[0], r.services[len(r.services)-1].replicas[0]
	document := quoted(r.library.Readable()[0].Path)
	commands := slices.Concat([][2]string{
		{"in another shell, first", ". " + quoted(environment)},
		{"submit a text", "kesita task submit --tenant " + tenant + " --wait " + document},
	}, r.corpusCommands(document, query), [][2]string{
		{"look at the leases", "kesita executors"},
		{"kill " + victim.Name(), fmt.Sprintf("kill -KILL %d", victim.PID())},
		{"pause " + sleeper.Name() + " past its lease", fmt.Sprintf("kill -STOP %d; sleep %.0f; kill -CONT %d",
			sleeper.PID(), 2*r.pace.Lease.Seconds(), sleeper.PID())},
		{"is it ready?", fmt.Sprintf("curl -s %s/health/ready", sleeper.url())},
		{"watch its log", "tail -f " + quoted(sleeper.LogPath())},
	})
	rows := make([][]screen.Cell, 0, len(commands))
	for _, c := range commands {
		rows = append(rows, []screen.Cell{dim("%s", c[0]), text("%s", c[1])})
	}
	r.screen.Raw("")
	r.screen.Table(rows)
	r.screen.Raw("")
	r.screen.Line("%s", r.screen.Paint(screen.Dim, "The environment file holds passwords; only you can read it. A replica that ends is started again."))
}
