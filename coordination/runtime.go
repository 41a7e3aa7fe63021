package coordination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/backlog"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/lease"
	"github.com/kesita/platform/coordination/probe"
	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/recovery"
	"github.com/kesita/platform/coordination/retention"
	"github.com/kesita/platform/coordination/service"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/coordination/stray"
	"github.com/kesita/platform/coordination/watchdog"
	"github.com/kesita/platform/coordination/workflow"
)

// The parts that the watchdog watches.
const (
	partRenewal = "renewal"
	partScan    = "scan"
	partProbe   = "probe"
)

// Runtime is one executor: one process life with one identity, one lease and one SDK context. Make it with Open,
// register workflows and queues, then Launch. A Runtime is used once; a new start needs a new one (C4, H6).
type Runtime struct {
	config   Config
	identity guard.Identity
	log      *signal.Log
	registry *pgx.ConnConfig
	control  *pgxpool.Pool
	dog      *watchdog.Watchdog
	lease    *lease.Lease
	journal  *journal.Journal
	sdk      dbos.Context
	host     *workflow.Host
	queues   []Queue
	pools    []*guard.Pool
	settle   quarantine.Hook
	prober   *probe.Prober
	services service.Group
}

// Queue is a named, limited business queue.
type Queue struct {
	Name string
	// Concurrency is both the global and the per-worker limit (P5): more replicas do not multiply it.
	Concurrency int
}

// Open makes one attempt to become an executor: it proves that the database is the right one, checks the journal's
// catalog and installs its guards (C7), takes a lease and prepares the SDK. Nothing runs yet. On an error nothing is
// left behind but a released lease; boot.Judge says what the error means.
func Open(ctx context.Context, config Config) (*Runtime, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	id := uuid.New()
	r := &Runtime{
		config:   config,
		identity: guard.Identity{ExecutorID: id, Timing: config.Timing},
		log:      signal.New(config.Logger).With(id.String()),
	}
	r.dog = watchdog.New(watchdog.Config{Timing: config.Timing, Log: r.log, Exit: config.Exit, Code: boot.ExitRestart})
	if err := r.open(ctx); err != nil {
		r.discard(ctx)
		return nil, err
	}
	return r, nil
}

func (r *Runtime) open(ctx context.Context) error {
	if err := r.openControl(ctx); err != nil {
		return err
	}
	if err := r.checkDatabase(ctx); err != nil {
		return err
	}
	if err := r.acquire(ctx); err != nil {
		return err
	}
	return r.openSDK(ctx)
}

// openControl opens the pool of the runtime itself: checks and scans. Renewals have a connection of their own.
func (r *Runtime) openControl(ctx context.Context) error {
	config, err := r.identity.PoolConfig(r.config.DatabaseURL, controlConnections)
	if err != nil {
		return err
	}
	config.ConnConfig.RuntimeParams["lock_timeout"] = fmt.Sprint(r.config.Timing.RowLock.Milliseconds())
	r.registry = config.ConnConfig.Copy()
	if r.control, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return fmt.Errorf("open control pool: %w", err)
	}
	return nil
}

func (r *Runtime) checkDatabase(ctx context.Context) error {
	if err := lease.Verify(ctx, r.control, r.identity.ExecutorID, r.config.Application); err != nil {
		return err
	}
	if err := journal.CheckCatalog(ctx, r.control); err != nil {
		return err
	}
	if _, err := journal.InstallGuards(ctx, r.control); err != nil {
		return err
	}
	return lease.VerifyGuards(ctx, r.control)
}

func (r *Runtime) acquire(ctx context.Context) error {
	var err error
	r.lease, err = lease.Acquire(ctx, lease.Config{
		Owner: lease.Owner{
			ExecutorID: r.identity.ExecutorID, Application: r.config.Application, Version: r.config.Version,
			BuildVersion: r.config.BuildVersion, BuildRevision: r.config.BuildRevision,
		},
		Timing: r.config.Timing, Connection: r.registry.Copy(), Control: r.control, Log: r.log,
		Renewed: func(sent time.Time) { r.dog.Progress(partRenewal, sent) },
		Lost:    func(error) { r.dog.Trip(signal.LeaseLost) },
	})
	if err != nil {
		return err
	}
	r.journal = journal.Open(r.control, r.identity.ExecutorID)
	r.dog.Watch(partRenewal, signal.RenewalStalled)
	r.lease.Start(context.WithoutCancel(ctx))
	r.dog.Start(context.WithoutCancel(ctx))
	return nil
}

// openSDK builds the SDK on a pool of ours, so that all its sessions carry the identity. Its root is detached from the
// caller's cancellation: a cancelled root would durably cancel every running workflow (H1).
func (r *Runtime) openSDK(ctx context.Context) error {
	r.host = workflow.NewHost(workflow.Config{
		Version: r.config.Version, Timing: r.config.Timing, Log: r.log, CheckLease: r.lease.Check, Trip: r.dog.Trip,
	})
	config, err := r.identity.PoolConfig(r.config.DatabaseURL, r.config.JournalConnections)
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return fmt.Errorf("open journal pool: %w", err)
	}
	r.sdk, err = dbos.NewContext(r.host.Bind(context.WithoutCancel(ctx)), dbos.Config{
		AppName: r.config.Application, ApplicationVersion: r.config.Version, ExecutorID: r.identity.ExecutorID.String(),
		SystemDBPool: pool, DatabaseSchema: journal.Schema, SkipMigrations: true,
		SystemDBStartupTimeout: r.config.Timing.Statement, Logger: r.sdkLogger(),
	})
	if err != nil {
		pool.Close()
		return fmt.Errorf("%w: %w", boot.ErrSDK, err)
	}
	if dbos.GetExecutorID(r.sdk) != r.identity.ExecutorID.String() || dbos.GetApplicationVersion(r.sdk) != r.config.Version {
		return ErrSDKOverride
	}
	r.host.Attach(r.sdk)
	return nil
}

// sdkLogger passes the SDK's warnings and errors on, under our operation and without its info chatter.
func (r *Runtime) sdkLogger() *slog.Logger {
	return slog.New(warnings{r.log.Slog().Handler()}).With("operation", string(signal.Workflow), "reason", string(signal.SDK))
}

// ExecutorID is this executor's identity.
func (r *Runtime) ExecutorID() uuid.UUID { return r.identity.ExecutorID }

// Host implements workflow.Registrar.
func (r *Runtime) Host() *workflow.Host { return r.host }

// Log writes lines that carry the executor's ID.
func (r *Runtime) Log() *signal.Log { return r.log }

// CheckLease asks the database whether this executor may go on, and how much of its lease is left (K5, F7).
func (r *Runtime) CheckLease(ctx context.Context) (left time.Duration, err error) {
	return r.lease.Check(ctx)
}

// ConfigurePool opens the worker's pool to its business database: the only way to one (F5). Its endpoint must be the
// registry's; a different host, port, database or fail-over list is guard.ErrEndpoint. Credentials may differ. The
// identity is proven on a live session before the pool is handed out.
func (r *Runtime) ConfigurePool(ctx context.Context, url string, maxConns int32) (*guard.Pool, error) {
	pool, err := guard.Open(context.WithoutCancel(ctx), r.registry, r.identity, url, maxConns)
	if err != nil {
		return nil, err
	}
	if err := r.prove(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	r.pools = append(r.pools, pool)
	return pool, nil
}

// prove: the identity arrived, and the fence admits it.
func (r *Runtime) prove(ctx context.Context, pool *guard.Pool) error {
	if err := lease.Verify(ctx, pool, r.identity.ExecutorID, r.config.Application); err != nil {
		return err
	}
	err := lease.VerifyAdmission(ctx, pool, r.identity.ExecutorID)
	if fault.Of(err) == fault.Fenced {
		if _, held := r.lease.Check(ctx); held == nil {
			return fmt.Errorf("%w that holds this lease: %w", lease.ErrNotWorker, err)
		}
	}
	return err
}

// AddQueue adds a business queue that this worker serves. Call it before Launch.
func (r *Runtime) AddQueue(q Queue) error {
	if q.Name == "" || q.Name == journal.InternalQueue || q.Concurrency < 1 {
		return fmt.Errorf("%w: queue %q needs a name of its own and a concurrency of at least 1", boot.ErrConfiguration, q.Name)
	}
	r.queues = append(r.queues, q)
	return nil
}

// Launch registers the queues, listens to exactly those and to the private one, launches the SDK and starts the
// scanner and the prober. From here on the worker works.
func (r *Runtime) Launch(ctx context.Context) error {
	r.prober = probe.New(probe.Config{
		SDK: r.sdk, Queue: r.journal.ProbeQueue(), Version: r.config.Version, Timing: r.config.Timing, Log: r.log,
		Probed: func(began time.Time) { r.dog.Progress(partProbe, began) },
	})
	names := []string{r.journal.ProbeQueue()}
	for _, q := range r.queues {
		_, err := dbos.RegisterQueue(r.sdk, q.Name, dbos.WithGlobalConcurrency(q.Concurrency),
			dbos.WithWorkerConcurrency(q.Concurrency), dbos.WithQueueBasePollingInterval(r.config.Timing.QueuePoll))
		if err != nil {
			return fmt.Errorf("%w: register queue %s: %w", boot.ErrSDK, q.Name, err)
		}
		names = append(names, q.Name)
	}
	if err := r.prober.Register(); err != nil {
		return fmt.Errorf("%w: %w", boot.ErrSDK, err)
	}
	dbos.ListenQueues(r.sdk, names...)
	if err := dbos.Launch(r.sdk); err != nil {
		return fmt.Errorf("%w: launch: %w", boot.ErrSDK, err)
	}
	r.startServices(context.WithoutCancel(ctx))
	r.log.Info(ctx, signal.Startup, signal.Started, slog.String("application", r.config.Application),
		slog.String("application_version", r.config.Version), slog.String("version", r.config.BuildVersion),
		slog.String("revision", r.config.BuildRevision), slog.Any("queues", names))
	return nil
}

func (r *Runtime) startServices(ctx context.Context) {
	scanner := recovery.New(recovery.Config{
		Journal: r.journal, Timing: r.config.Timing, Log: r.log,
		EndSessions: func(ctx context.Context, executor uuid.UUID) (int, error) {
			return lease.EndSessions(ctx, r.control, executor)
		},
		Scanned: func(began time.Time) { r.dog.Progress(partScan, began) },
	})
	monitor := backlog.New(backlog.Config{
		Observe: r.journal.Observe, Queues: append(r.queueNames(), journal.InternalQueue), Timing: r.config.Timing, Log: r.log, Trip: r.dog.Trip,
	})
	settler := quarantine.New(quarantine.Config{Journal: r.journal, Hook: r.settle, Timing: r.config.Timing, Log: r.log})
	strays := stray.New(stray.Config{Journal: r.journal, Host: r.host, Timing: r.config.Timing, Log: r.log})
	cleaner := retention.New(retention.Config{Journal: r.journal, Timing: r.config.Timing, Log: r.log})
	summary := service.NewLoop(service.Every(r.config.Timing.Summary), r.summarise)
	r.dog.Watch(partScan, signal.ScanStalled)
	r.dog.Watch(partProbe, signal.ProbeStalled)
	r.services = service.Group{scanner, r.prober, monitor, settler, strays, cleaner, summary}
	r.services.Start(ctx)
}

func (r *Runtime) queueNames() []string {
	names := make([]string, 0, len(r.queues)+1)
	for _, q := range r.queues {
		names = append(names, q.Name)
	}
	return names
}

// SettleWith sets the hook that settles the business state of quarantined workflows (P3). Call it before Launch.
func (r *Runtime) SettleWith(hook quarantine.Hook) { r.settle = hook }

// summarise writes the line that lets silence be alerted on and live replicas be counted (K12).
func (r *Runtime) summarise(ctx context.Context) {
	attrs := []slog.Attr{
		slog.String("application", r.config.Application), slog.String("application_version", r.config.Version),
		slog.Int("active_workflows", len(r.host.Active())),
		slog.Int64("lease_left_ms", time.Until(r.lease.Deadline()).Milliseconds()),
	}
	for name, age := range r.dog.Ages() {
		attrs = append(attrs, slog.Int64(name+"_age_ms", age.Milliseconds()))
	}
	r.log.Info(ctx, signal.Coordination, signal.LeaseActive, attrs...)
}

// Verdict is closed when this process must end: the watchdog gave up, or the lease is lost. The process is gone
// within Timing.ForcedExit whatever the caller does.
func (r *Runtime) Verdict() <-chan struct{} { return r.dog.Verdict() }

// ErrNotClean says that work did not stop within its budget, so the lease was left to expire.
var ErrNotClean = errors.New("shutdown was not clean")
