package coordination_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/signal"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// C7: several workers that start at once on a database whose journal has no guards yet all start, and guard it once.
func TestFirstStartsAtTheSameTimeAllSucceed(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	guards := `select count(*) from pg_trigger where tgname = 'workflow_lease_guard' and tgrelid::regclass::text like 'dbos.%'`
	all := o.Text(t, guards)
	o.Exec(t, `do $$ declare r record; begin
		for r in select tgrelid::regclass as t from pg_trigger where tgname = 'workflow_lease_guard' and tgrelid::regclass::text like 'dbos.%'
		loop execute format('drop trigger workflow_lease_guard on %s', r.t); end loop; end $$`)
	require.Equal(t, "0", o.Text(t, guards))
	replicas := make([]*coordination.Runtime, 3)
	starts, ctx := errgroup.WithContext(t.Context())
	for i := range replicas {
		starts.Go(func() error {
			var err error
			if replicas[i], err = coordination.Open(ctx, config(d)); err != nil {
				return err
			}
			if err := replicas[i].AddQueue(coordination.Queue{Name: orders, Concurrency: 2}); err != nil {
				return err
			}
			return replicas[i].Launch(ctx)
		})
	}
	require.NoError(t, starts.Wait())
	require.Equal(t, all, o.Text(t, guards))
	for _, r := range replicas {
		require.NoError(t, r.Shutdown(t.Context()))
	}
	require.Equal(t, "3", o.Text(t, `select count(*) from workflow_coordination.executor where state = 'released'`))
	awaitNoSessions(t, o)
}

// H6: wherever a start fails, its error says what to do, and nothing is left of it but a released lease: no session, no
// goroutine (TestMain looks), no private queue.
func TestAStartThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	raise := func(f harness.Fault) func(*testing.T, *fixture.Database, *coordination.Config) {
		return func(t *testing.T, d *fixture.Database, _ *coordination.Config) { harness.Inject(t, d, f) }
	}
	run := func(sql string) func(*testing.T, *fixture.Database, *coordination.Config) {
		return func(t *testing.T, d *fixture.Database, _ *coordination.Config) {
			d.Exec(t, d.OwnerURL, strings.ReplaceAll(sql, "{{worker}}", d.Worker.Name))
		}
	}
	for name, stage := range map[string]struct {
		spoil func(*testing.T, *fixture.Database, *coordination.Config)
		want  boot.Verdict
	}{
		"OtherApplication": {
			func(_ *testing.T, _ *fixture.Database, c *coordination.Config) { c.Application = "kesita-other" },
			boot.Verdict{Reason: signal.OtherApplication, ExitCode: boot.ExitConfiguration},
		},
		"LoginOfNoWorker": {
			func(_ *testing.T, d *fixture.Database, c *coordination.Config) { c.DatabaseURL = d.APIURL },
			boot.Verdict{Reason: signal.NotAWorker, ExitCode: boot.ExitPermission},
		},
		"OtherCatalog": {
			run(`update dbos.dbos_migrations set version = 114`),
			boot.Verdict{Reason: signal.CatalogMismatch, ExitCode: boot.ExitSchema},
		},
		"UnguardedTable": {
			run(`create table shop.bare (id text); grant insert on shop.bare to "{{worker}}"`),
			boot.Verdict{Reason: signal.GuardsIncomplete, ExitCode: boot.ExitSchema},
		},
		"Registration": {
			raise(harness.Fault{Table: "workflow_coordination.executor", On: "insert", Code: "53100", Times: 0}),
			boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable},
		},
		"SDK": {
			run(`revoke select on dbos.dbos_migrations from "{{worker}}"`),
			boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable},
		},
		"PrivateQueue": {
			raise(harness.Fault{Table: "dbos.queues", On: "insert", Code: "P0001", When: "new.name like 'kesita-probe-%'"}),
			boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable},
		},
		"BusinessQueue": {
			raise(harness.Fault{Table: "dbos.queues", On: "insert", Code: "P0001", When: "new.name = 'orders'"}),
			boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable},
		},
		"Launch": {
			raise(harness.Fault{Table: "dbos.workflow_status", On: "update", Code: "P0001"}),
			boot.Verdict{Retry: true, Reason: signal.DatabaseDown, ExitCode: boot.ExitUnavailable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			c := config(d)
			stage.spoil(t, d, &c)
			err := start(t.Context(), c)
			require.Error(t, err)
			require.Equal(t, stage.want, boot.Judge(err), err)
			require.NotContains(t, err.Error(), d.Worker.Password)
			require.Equal(t, "0", o.Text(t, `select count(*) from workflow_coordination.executor where state <> 'released'`))
			require.Equal(t, "0", o.Text(t, `select count(*) from dbos.queues where name like 'kesita-probe-%'`))
			awaitNoSessions(t, o)
		})
	}
}

// start makes one attempt the way an application does.
func start(ctx context.Context, c coordination.Config) error {
	r, err := coordination.Open(ctx, c)
	if err != nil {
		return err
	}
	if err = r.AddQueue(coordination.Queue{Name: orders, Concurrency: 2}); err == nil {
		err = r.Launch(ctx)
	}
	r.Discard(ctx)
	return err
}

// C5, H6: every fault of a configuration comes in one error, overrides of the SDK among them, and none tells a secret.
func TestAllFaultsOfAConfigurationComeAtOnce(t *testing.T) {
	t.Parallel()
	c := coordination.Config{
		Application: "Kesita Shop", Version: "", DatabaseURL: "postgres://worker:Pl4nted@db.example:notaport/shop", Timing: pace(),
		Environ: []string{
			"DBOS__VMID=a", "DBOS__APPVERSION=b", "DBOS__CLOUD=true", "DBOS_CONDUCTOR_KEY=secretkey", "DBOS_CONDUCTOR_URL=wss://x",
			"DBOS__APPID=", "PATH=/bin",
		},
	}
	c.Timing.Watchdog = c.Timing.Lease
	_, err := coordination.Open(t.Context(), c)
	require.ErrorIs(t, err, coordination.ErrSDKOverride)
	require.Equal(t, boot.ExitConfiguration, boot.Judge(err).ExitCode)
	for _, part := range []string{"application name", "compatibility version", "watchdog", "database url", "DBOS__VMID", "DBOS__APPVERSION", "DBOS__CLOUD", "DBOS_CONDUCTOR_KEY", "DBOS_CONDUCTOR_URL"} {
		require.ErrorContains(t, err, part)
	}
	for _, secret := range []string{"Pl4nted", "secretkey", "DBOS__APPID", "PATH"} {
		require.NotContains(t, err.Error(), secret)
	}
}

// K13: a connection that would cross a network without a verified server is refused before it is made.
func TestAnUnverifiedServerIsRefusedBeforeAnyConnection(t *testing.T) {
	t.Parallel()
	c := config(&fixture.Database{WorkerURL: "postgres://w:p@db.example:5432/shop?sslmode=require"})
	_, err := coordination.Open(t.Context(), c)
	require.Equal(t, boot.ExitConfiguration, boot.Judge(err).ExitCode)
	require.Equal(t, fault.Unknown, fault.Of(err), "no connection was tried")
}

// C5: the SDK lets its environment win. Should an override get past the check of the configuration, the start sees it
// in what the SDK made of it. Not parallel: the environment is the process's.
func TestTheSDKsOwnIdentityIsAsserted(t *testing.T) {
	for _, override := range []string{"DBOS__VMID", "DBOS__APPVERSION"} {
		t.Run(override, func(t *testing.T) {
			t.Setenv(override, "other")
			d := fixture.Copy(t)
			o := harness.Watch(t, d)
			_, err := coordination.Open(t.Context(), config(d)) // Environ is empty: the check sees nothing
			require.ErrorIs(t, err, coordination.ErrSDKOverride)
			require.Equal(t, "1", o.Text(t, `select count(*) from workflow_coordination.executor where state = 'released'`))
			awaitNoSessions(t, o)
		})
	}
}
