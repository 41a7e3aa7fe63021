package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/kesita/platform/test/fixture"
)

// KillSession is a code of a Fault: it ends the writing session instead of raising an error.
const KillSession = "kill"

// Fault makes the database refuse chosen writes. Only the test knows of it.
type Fault struct {
	// Table is where, On what: insert or update.
	Table, On string
	// When is a condition over the new row, as SQL with "new."; empty means every statement, also one without rows.
	When string
	// Code is the SQLSTATE that is raised, or KillSession.
	Code string
	// Times is how often; 0 always.
	Times int
}

// Injected is a fault that is in place.
type Injected struct {
	observer    *Observer
	name, table string
}

// Inject puts the fault in place, until Heal or the end of the database.
func Inject(t testing.TB, d *fixture.Database, f Fault) *Injected {
	t.Helper()
	i := &Injected{observer: &Observer{conn: d.Connect(t, d.AdminURL)}, table: f.Table, name: "fault_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	act := fmt.Sprintf("raise exception 'injected fault' using errcode = '%s'", f.Code)
	if f.Code == KillSession {
		act = "perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()); perform pg_catalog.pg_sleep(1)"
	}
	limit := "true"
	if f.Times > 0 {
		limit = fmt.Sprintf("pg_catalog.nextval('public.%s') <= %d", i.name, f.Times)
	}
	// A sequence counts, because the refused transaction takes everything else back.
	i.observer.Exec(t, fmt.Sprintf(`create sequence public.%s`, i.name))
	i.observer.Exec(t, fmt.Sprintf(`create function public.%[1]s() returns trigger language plpgsql security definer as $$
begin if %[2]s then %[3]s; end if; return new; end $$`, i.name, limit, act))
	each := "statement"
	if f.When != "" {
		each = "row when (" + f.When + ")"
	}
	i.observer.Exec(t, fmt.Sprintf(`create trigger %[1]s before %[2]s on %[3]s for each %[4]s execute function public.%[1]s()`,
		i.name, f.On, f.Table, each))
	return i
}

// Heal takes the fault away.
func (i *Injected) Heal(t testing.TB) {
	t.Helper()
	i.observer.Exec(t, fmt.Sprintf(`drop trigger %s on %s`, i.name, i.table))
}

// Hits is how often the fault's write was tried, at most Times+1 counted exactly; only for faults with Times.
func (i *Injected) Hits(t testing.TB) string {
	t.Helper()
	return i.observer.Text(t, fmt.Sprintf(`select case when is_called then last_value else 0 end from public.%s`, i.name))
}

// AtCheckpoint is the write of one step's result. step counts from 0.
func AtCheckpoint(workflow string, step int, code string, times int) Fault {
	return Fault{
		Table: "dbos.operation_outputs", On: "insert", Code: code, Times: times,
		When: fmt.Sprintf("new.workflow_uuid = '%s' and new.function_id = %d", workflow, step),
	}
}

// AtOutcome is the write of a workflow's result.
func AtOutcome(workflow, code string, times int) Fault {
	return Fault{
		Table: "dbos.workflow_status", On: "update", Code: code, Times: times,
		When: fmt.Sprintf("new.workflow_uuid = '%s' and new.status in ('SUCCESS', 'ERROR')", workflow),
	}
}

// AtOrder is a step's own write to shop.orders.
func AtOrder(id, code string, times int) Fault {
	return Fault{Table: "shop.orders", On: "insert", Code: code, Times: times, When: fmt.Sprintf("new.id = '%s'", id)}
}
