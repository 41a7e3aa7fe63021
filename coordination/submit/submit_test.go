package submit_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

// TestMain proves for every test that a closed client leaves no goroutine.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func request(id string) submit.Request {
	return submit.Request{Queue: "orders", Workflow: "shop.order", ID: id, Input: map[string]string{"article": id}}
}

func open(t *testing.T, d *fixture.Database) *submit.Client {
	t.Helper()
	client, err := submit.Open(t.Context(), d.APIURL, fixture.Application, fixture.Version)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func begin(t *testing.T, d *fixture.Database, url string) pgx.Tx {
	t.Helper()
	tx, err := d.Connect(t, url).Begin(t.Context())
	require.NoError(t, err)
	return tx
}

// A submission belongs to the caller's transaction: it exists with the business rows, or not at all.
func TestASubmissionExistsWithTheTransactionItWasMadeIn(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	client := open(t, d)
	for id, commit := range map[string]bool{"kept": true, "dropped": false} {
		tx := begin(t, d, d.APIURL)
		_, err := tx.Exec(t.Context(), `insert into shop.orders (id) values ($1)`, id)
		require.NoError(t, err)
		require.NoError(t, client.Submit(t.Context(), tx, request(id)))
		require.Empty(t, o.Status(t, id), "nobody sees it before the commit")
		if commit {
			require.NoError(t, tx.Commit(t.Context()))
		} else {
			require.NoError(t, tx.Rollback(t.Context()))
		}
	}
	require.Equal(t, "ENQUEUED", o.Status(t, "kept"))
	require.NotEmpty(t, o.Order(t, "kept"))
	require.Empty(t, o.Status(t, "dropped"))
	require.Empty(t, o.Order(t, "dropped"))
	require.Equal(t, "0", o.Text(t, `select count(*) from dbos.workflow_input where workflow_uuid = 'dropped'`))
	row := `select queue_name || ' ' || name || ' ' || application_name || ' ' || application_version || ' ' || recovery_attempts from dbos.workflow_status where workflow_uuid = 'kept'`
	require.Equal(t, "orders shop.order "+fixture.Application+" "+fixture.Version+" 0", o.Text(t, row), "C5: for workers of this version only")
}

// The same ID is one piece of work, in one transaction or in several, also after it was done.
func TestTheSameIDIsSubmittedOnce(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	client := open(t, d)
	again := func() {
		tx := begin(t, d, d.APIURL)
		require.NoError(t, client.Submit(t.Context(), tx, request("a")))
		require.NoError(t, client.Submit(t.Context(), tx, request("a")))
		require.NoError(t, tx.Commit(t.Context()))
	}
	again()
	again()
	require.Equal(t, "1", o.Text(t, `select count(*) from dbos.workflow_status`))
	o.Exec(t, `update dbos.workflow_status set status = 'SUCCESS', executor_id = 'w'`)
	again()
	require.Equal(t, "SUCCESS w", o.Text(t, `select status || ' ' || executor_id from dbos.workflow_status`))
}

// A repeated submission in a transaction that stays open holds up neither its workflow nor the queue behind it: a lock
// on the first one in line would make every replica's claim contend for as long.
func TestARepeatedSubmissionLocksNothing(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	client := open(t, d)
	first := begin(t, d, d.APIURL)
	require.NoError(t, client.Submit(t.Context(), first, request("a")))
	require.NoError(t, first.Commit(t.Context()))
	require.NoError(t, client.Submit(t.Context(), begin(t, d, d.APIURL), request("a"))) // and stays open
	claim := begin(t, d, d.OwnerURL)
	_, err := claim.Exec(t.Context(), `select from dbos.workflow_status where workflow_uuid = 'a' for update nowait`)
	require.NoError(t, err)
	other := request("a")
	other.Workflow = "shop.other"
	require.NoError(t, claim.Rollback(t.Context()))
	require.Error(t, client.Submit(t.Context(), begin(t, d, d.APIURL), other), "the same ID is no other workflow's")
}

// What was submitted is executed by a worker, with the input that was given.
func TestAWorkerExecutesWhatWasSubmitted(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	rt, err := coordination.Open(t.Context(), coordination.Config{
		Application: fixture.Application, Version: fixture.Version, DatabaseURL: d.WorkerURL, Timing: fixture.Timing(), Environ: []string{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Shutdown(context.Background())) })
	heard := make(chan string, 1)
	workflow.Register(rt, "shop.order", func(_ workflow.Context, in map[string]string) (string, error) {
		heard <- in["article"]
		return "", nil
	})
	require.NoError(t, rt.AddQueue(coordination.Queue{Name: "orders", Concurrency: 1}))
	require.NoError(t, rt.Launch(t.Context()))
	tx := begin(t, d, d.APIURL)
	require.NoError(t, open(t, d).Submit(t.Context(), tx, request("a")))
	require.NoError(t, tx.Commit(t.Context()))
	o.AwaitStatus(t, "SUCCESS", "a")
	require.Equal(t, "a", <-heard)
	require.Equal(t, rt.ExecutorID().String(), o.Text(t, `select executor_id from dbos.workflow_status where workflow_uuid = 'a'`))
}

// K7: a request without a queue of its own or without an ID is refused, and the transaction stays usable.
func TestARequestNeedsANamedQueueAndAnID(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	client := open(t, d)
	tx := begin(t, d, d.APIURL)
	for _, to := range []string{"", journal.InternalQueue} {
		r := request("a")
		r.Queue = to
		require.ErrorIs(t, client.Submit(t.Context(), tx, r), workflow.ErrQueue)
	}
	require.ErrorIs(t, client.Submit(t.Context(), tx, request("")), submit.ErrNoID)
	require.NoError(t, client.Submit(t.Context(), tx, request("a")))
	require.NoError(t, tx.Commit(t.Context()))
}

// K2, F4: a worker login without an identity is no way around the fence; the API's login needs none.
func TestASubmissionThroughAWorkerLoginIsFenced(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	client := open(t, d)
	tx := begin(t, d, d.WorkerURL)
	require.Equal(t, fault.Fenced, fault.Of(client.Submit(t.Context(), tx, request("a"))))
	require.NoError(t, tx.Rollback(t.Context()))
}

// C7, K13: what the client leads to is checked before it is handed out, and nothing is left of a refusal.
func TestAClientIsRefusedWhereItCouldDoHarm(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	o := harness.Watch(t, d)
	_, err := submit.Open(t.Context(), "postgres://a:b@db.example/shop?sslmode=prefer", fixture.Application, fixture.Version)
	require.ErrorIs(t, err, guard.ErrPlaintext)
	o.Exec(t, `update dbos.dbos_migrations set version = 125`)
	_, err = submit.Open(t.Context(), d.APIURL, fixture.Application, fixture.Version)
	require.ErrorIs(t, err, journal.ErrCatalog)
	harness.Await(t, "no session is left", func() bool {
		return o.Text(t, `select count(*) from pg_stat_activity where datname = current_database() and usename = $1`, d.API.Name) == "0"
	})
}
