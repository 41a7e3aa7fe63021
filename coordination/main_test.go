package coordination_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const orders = "orders"

// replica is one runtime in this process, with its log and its exits.
type replica struct {
	*coordination.Runtime
	pool *guard.Pool
	log  *log
	exit atomic.Int64 // the code of a forced exit, -1 before

	stopOnce sync.Once
	stopped  error
}

// pace is a fifth of production: a watchdog of 9 s leaves a busy machine room.
func pace() coordination.Timing { return coordination.ProductionTiming().Scale(0.2) }

// config is a worker of the database.
func config(d *fixture.Database) coordination.Config {
	return coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: pace(), Environ: []string{},
	}
}

// open takes a lease and a business pool; nothing runs yet.
func open(t *testing.T, c coordination.Config) *replica {
	t.Helper()
	return openIn(t.Context(), t, c)
}

func openIn(ctx context.Context, t *testing.T, c coordination.Config) *replica {
	t.Helper()
	r := &replica{log: &log{}}
	r.exit.Store(-1)
	c.Logger = signal.JSON(r.log, slog.LevelInfo)
	c.Exit = func(code int) { r.exit.Store(int64(code)) }
	r.Runtime = attempt(ctx, t, c)
	var err error
	r.pool, err = r.ConfigurePool(ctx, c.DatabaseURL, 4)
	require.NoError(t, err)
	require.NoError(t, r.AddQueue(coordination.Queue{Name: orders, Concurrency: 4}))
	t.Cleanup(func() {
		_ = r.stop(context.Background())
		if t.Failed() {
			t.Log(r.log.text())
		}
	})
	return r
}

// attempt opens as an application does: what waiting can heal is tried again.
func attempt(ctx context.Context, t *testing.T, c coordination.Config) *coordination.Runtime {
	t.Helper()
	for {
		r, err := coordination.Open(ctx, c)
		if err == nil {
			return r
		}
		require.True(t, boot.Judge(err).Retry, err)
	}
}

// launch opens, registers and launches.
func launch(t *testing.T, c coordination.Config, register func(r *replica)) *replica {
	t.Helper()
	r := open(t, c)
	register(r)
	require.NoError(t, r.Launch(t.Context()))
	return r
}

// stop shuts down once.
func (r *replica) stop(ctx context.Context) error {
	r.stopOnce.Do(func() { r.stopped = r.Shutdown(ctx) })
	return r.stopped
}

func (r *replica) id() string { return r.ExecutorID().String() }

// condemned reports whether the watchdog gave its verdict.
func (r *replica) condemned() bool {
	select {
	case <-r.Verdict():
		return true
	default:
		return false
	}
}

// awaitExit waits for the forced exit and returns its code.
func (r *replica) awaitExit(t *testing.T) int {
	t.Helper()
	harness.Await(t, "the forced exit", func() bool { return r.exit.Load() >= 0 })
	return int(r.exit.Load())
}

// write notes a row of shop.orders once, through the guarded pool.
func (r *replica) write(ctx context.Context, id string) error {
	_, err := r.pool.Exec(ctx, `insert into shop.orders (id, writer) values ($1, $2) on conflict do nothing`, id, r.id())
	return err
}

// single registers a workflow of one step that writes the row of its ID.
func single(r *replica) {
	workflow.Register(r, "shop.order", func(ctx workflow.Context, id string) (string, error) {
		return workflow.RunStep(ctx, "note", func(ctx context.Context) (string, error) { return id, r.write(ctx, id) })
	})
}

// gated registers a workflow whose step notes running/ID and waits until open is closed; with deaf set it does not
// hear its cancellation.
func gated(open <-chan struct{}, deaf bool) func(r *replica) {
	return func(r *replica) {
		workflow.Register(r, "shop.order", func(ctx workflow.Context, id string) (string, error) {
			return workflow.RunStep(ctx, "wait", func(ctx context.Context) (string, error) {
				if err := r.write(ctx, "running/"+id); err != nil {
					return "", err
				}
				ended := ctx.Done()
				if deaf {
					ended = nil
				}
				select {
				case <-open:
					return id, r.write(ctx, id)
				case <-ended:
					return "", ctx.Err()
				}
			})
		})
	}
}

// expire lets an executor's lease run out now.
func expire(t *testing.T, d *fixture.Database, r *replica) {
	t.Helper()
	d.Expire(t, r.ExecutorID())
}

// sessions is how many connections workers have to the database.
func sessions(t *testing.T, o *harness.Observer) string {
	t.Helper()
	return o.Text(t, `select count(*) from pg_stat_activity where datname = current_database() and application_name like 'kesita:%'`)
}

// awaitNoSessions: the server takes a moment to notice that a client went.
func awaitNoSessions(t *testing.T, o *harness.Observer) {
	t.Helper()
	harness.Await(t, "all sessions are gone", func() bool { return sessions(t, o) == "0" })
}

// log keeps a replica's lines.
type log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// count is how many lines an operation wrote for a reason.
func (l *log) count(operation signal.Operation, reason signal.Reason) int {
	n := 0
	for text := range strings.Lines(l.text()) {
		var line struct {
			Operation signal.Operation `json:"operation"`
			Reason    signal.Reason    `json:"reason"`
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.Operation == operation && line.Reason == reason {
			n++
		}
	}
	return n
}

// within fails the test when f takes longer than limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	require.LessOrEqual(t, time.Since(began), limit)
}
