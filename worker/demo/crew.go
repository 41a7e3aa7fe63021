package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/demo/fleet"
)

// replicas is how many processes each service has: one to kill, one to take over.
const replicas = 2

// replica is one worker process.
type replica struct {
	*fleet.Process
	executorID, address string
}

// errNotReady says that a replica did not get ready in time.
var errNotReady = errors.New("not ready in time")

// startCrew starts the provider, then all replicas at the same time, and waits until each says that it is ready.
func (r *run) startCrew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.pace.start)
	defer cancel()
	if err := r.startProvider(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.services {
		s.replicas = make([]*replica, replicas)
		for i := range replicas {
			group.Go(func() error {
				var err error
				s.replicas[i], err = r.startReplica(ctx, s, fmt.Sprintf("%s-%d", s.name, i+1))
				return err
			})
		}
	}
	return group.Wait()
}

// startProvider starts the summary provider. Its journal outlives it: it shows what was executed.
func (r *run) startProvider(ctx context.Context) error {
	var err error
	r.provider, err = r.startProcess("provider",
		[]string{"provider", "--delay", r.pace.effort.String(), "--journal", r.providerJournal()}, nil)
	if err != nil {
		return err
	}
	return r.provider.Await(ctx, func(line map[string]any) bool {
		r.providerURL, _ = line["url"].(string)
		return r.providerURL != ""
	})
}

// startReplica starts a replica and waits until it is ready. One that ends with the status that asks for it is started
// again, as by any supervisor: on a machine without a free processor a start may take longer than a watchdog waits.
func (r *run) startReplica(ctx context.Context, s *service, name string) (*replica, error) {
	for {
		w, err := r.tryReplica(ctx, s, name)
		if w == nil || !errors.Is(err, fleet.ErrEnded) || w.ExitCode() != boot.ExitRestart || ctx.Err() != nil {
			return w, err
		}
		r.processes.forget(w.Process)
	}
}

func (r *run) tryReplica(ctx context.Context, s *service, name string) (*replica, error) {
	process, err := r.startProcess(name, []string{"worker", s.name}, []string{
		"DATABASE_URL=" + s.database.url(s.database.logins.Worker), "HTTP_ADDRESS=127.0.0.1:0", "TIMING=" + r.profile(),
		"PROVIDER_URL=" + r.providerURL, "BUSINESS_CONNECTIONS=8", "JOURNAL_CONNECTIONS=12",
	})
	if err != nil {
		return nil, err
	}
	w := &replica{Process: process}
	err = w.Await(ctx, func(line map[string]any) bool {
		if address, told := line["http_address"].(string); told {
			w.address = address
		}
		if line["operation"] == "executor_startup" && line["reason"] == "started" {
			w.executorID, _ = line["executor_id"].(string)
		}
		return w.address != "" && w.executorID != ""
	})
	if err != nil {
		return w, err
	}
	return w, r.awaitReady(ctx, w)
}

func (r *run) startProcess(name string, args, environ []string) (*fleet.Process, error) {
	process, err := fleet.Start(fleet.Command{
		Name: name, Program: r.options.Program[0], Args: slices.Concat(r.options.Program[1:], args),
		Environ: slices.Concat(inherited(r.options.Environ), environ),
		LogPath: filepath.Join(r.logs, name+".log"), Poll: r.pace.look,
	})
	if err == nil {
		r.processes.add(process)
	}
	return process, err
}

// awaitReady asks the replica itself, as an infrastructure would (H3).
func (r *run) awaitReady(ctx context.Context, w *replica) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url()+"/health/ready", nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", w.Name(), err)
	}
	ticker := time.NewTicker(r.pace.look)
	defer ticker.Stop()
	for {
		if response, err := r.http.Do(request); err == nil {
			_ = response.Body.Close() // only the status counts
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-w.Exited():
			return w.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", w.Name(), errors.Join(errNotReady, context.Cause(ctx)))
		case <-ticker.C:
		}
	}
}

func (w *replica) url() string { return "http://" + w.address }

// crew is every process that was started; replicas start at the same time.
type crew struct {
	mu  sync.Mutex
	all []*fleet.Process
}

func (c *crew) add(p *fleet.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, p)
}

// forget drops a process that is gone and replaced.
func (c *crew) forget(p *fleet.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(other *fleet.Process) bool { return other == p })
}

// list returns the processes by name.
func (c *crew) list() []*fleet.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(slices.Values(c.all), func(a, b *fleet.Process) int { return strings.Compare(a.Name(), b.Name()) })
}

// ended names the processes that are gone and were not asked to go.
func (c *crew) ended() []string {
	var names []string
	for _, p := range c.list() {
		if p.Failure() != nil {
			names = append(names, p.Name())
		}
	}
	return names
}

// stop ends all processes at the same time, workers before the provider that they talk to.
func (c *crew) stop(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var waiting sync.WaitGroup
	for _, p := range c.list() {
		waiting.Go(func() { p.Stop(ctx) })
	}
	waiting.Wait()
}
