// Package doctor owns the examination of a live database: is the fence closed, and is any work stuck that nobody will
// move (X4, O4)?
//
// It believes nothing that it can try: with a worker's login it attempts, in a transaction that is rolled back, every
// kind of write on every table under every bad identity, and expects each to be refused. Everything else it reads, in
// one moment and at a cost that does not grow with history. It changes nothing and repairs nothing; each finding says
// what to do. A check that could not be made is a finding, never silence; a database that cannot be reached is an error.
package doctor

import (
	"cmp"
	"context"
	_ "embed" // the queries
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/schema"
	"github.com/kesita/platform/coordination/timing"
)

//go:embed sql/place.sql
var placeSQL string

//go:embed sql/faults.sql
var faultsSQL string

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	// OK: the check was made and found nothing.
	OK Severity = "ok"
	// Warning: somebody should look; work is safe and, where it can, moves by itself.
	Warning Severity = "warning"
	// Error: the fence is open, or work stands still until somebody acts.
	Error Severity = "error"
)

// Finding is one result of one check.
type Finding struct {
	Check    Check    `json:"check"`
	Severity Severity `json:"severity"`
	// Object is what it is about: a table, a login, an executor, a workflow, a queue. Empty when the check is OK.
	Object string `json:"object"`
	// Count is how many workflows, attempts or transactions are meant; see Detail.
	Count int64 `json:"count"`
	// AgeMS is since when, in milliseconds by the database's clock; 0 where it means nothing.
	AgeMS  int64  `json:"age_ms"`
	Detail string `json:"detail"`
	// Remedy says what to do; empty when the check is OK.
	Remedy string `json:"remedy"`
}

// Proof is what the attempts to write showed.
type Proof struct {
	// Made is false without a worker's login, or when it failed: then nothing was proven.
	Made bool `json:"made"`
	// Login is the worker login that tried, Tables how many tables it may write, Refusals how many writes were refused
	// as they must be.
	Login    string `json:"login,omitempty"`
	Tables   int    `json:"tables"`
	Refusals int    `json:"refusals"`
}

// Report is the result of an examination.
type Report struct {
	Application string    `json:"application"`
	Database    string    `json:"database"`
	At          time.Time `json:"at"`
	Proof       Proof     `json:"proof"`
	// Findings are in the order of the checks, and each check has at least one.
	Findings []Finding `json:"findings"`
}

// Worst is the worst severity of the findings.
func (r Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		if f.Severity == Error || f.Severity == Warning && worst == OK {
			worst = f.Severity
		}
	}
	return worst
}

// Config is one examination.
type Config struct {
	// Database is examined; any login that may read will do.
	Database journal.Beginner
	// WorkerURL leads to the same database with a worker's login. Without it the proof is not made.
	WorkerURL string
	// Stuck is how long a pending workflow of a living owner may go without a recorded step. Default: a step's budget.
	Stuck time.Duration
}

// listed is the longest list of findings of one check.
const listed = 50

// place is which database is examined.
type place struct {
	database, application string
	started               time.Time // the server's start: two URLs lead to the same server when it is the same
	schemaVersion         int
	now                   time.Time
}

// Examine makes every check. Errors are those of a database that cannot be reached or has no coordination schema.
func Examine(ctx context.Context, config Config) (Report, error) {
	var e examination
	err := journal.Look(ctx, config.Database, func(tx pgx.Tx) error { return e.look(ctx, tx, config) })
	if err != nil {
		return Report{}, err
	}
	if err := e.prove(ctx, config); err != nil {
		return Report{}, err
	}
	return Report{
		Application: e.place.application, Database: e.place.database, At: e.place.now, Proof: e.proof, Findings: e.ordered(),
	}, nil
}

// examination collects the findings.
type examination struct {
	place place
	// timing is the profile of the living workers: it decides what is late.
	timing   timing.Timing
	proof    Proof
	findings []Finding
}

// look makes all checks that only read.
func (e *examination) look(ctx context.Context, tx pgx.Tx, config Config) error {
	p := &e.place
	if err := tx.QueryRow(ctx, placeSQL).Scan(&p.database, &p.started, &p.application, &p.schemaVersion, &p.now); err != nil {
		return fmt.Errorf("examine database: %w", err)
	}
	peers, err := journal.ReadPeers(ctx, tx, p.application, "")
	if err != nil {
		return err
	}
	e.timing = peers.Timing()
	if p.schemaVersion < schema.Version {
		e.add(Finding{Check: CoordinationSchema, Severity: Error, Object: p.application, Detail: fmt.Sprintf("version %d, this release needs %d", p.schemaVersion, schema.Version)})
	}
	if err := e.attempt(ctx, tx, GuardFunction, e.compareFunctions); err != nil {
		return err
	}
	if err := e.attempt(ctx, tx, UnguardedTable, e.readFaults); err != nil {
		return err
	}
	catalog := journal.CheckCatalog(ctx, tx)
	if catalog != nil {
		e.add(Finding{Check: Catalog, Severity: Error, Object: journal.Schema, Detail: catalog.Error()})
	}
	return e.ask(ctx, tx, catalog == nil, config.Stuck)
}

// ask makes the checks that are queries over unfinished work.
func (e *examination) ask(ctx context.Context, tx pgx.Tx, catalog bool, stuck time.Duration) error {
	t := e.timing
	bounds := journal.Bounds{
		Overdue: float64(t.Scan+t.QueuePoll+t.Transaction) / float64(t.Lease),
		Stuck:   cmp.Or(stuck, t.StepExecute), Unsettled: t.Probation, Stall: t.BacklogStall(t.QueuePoll), Limit: listed,
	}
	for _, c := range checks() {
		if !c.query {
			continue
		}
		if !catalog {
			e.add(Finding{Check: c.id, Severity: Error, Object: journal.Schema, Detail: "not made: the journal's catalog is another one"})
			continue
		}
		err := e.attempt(ctx, tx, c.id, func(ctx context.Context, tx pgx.Tx) error { return e.symptoms(ctx, tx, c, bounds) })
		if err != nil {
			return err
		}
	}
	return nil
}

// attempt makes one check. One that fails because the database is not as this release expects is a finding.
func (e *examination) attempt(ctx context.Context, tx pgx.Tx, id Check, check func(ctx context.Context, tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return check(ctx, tx) })
	switch fault.Of(err) {
	case fault.None:
		return nil
	case fault.SchemaMissing, fault.Permission:
		e.add(Finding{Check: id, Severity: Error, Object: e.place.application, Detail: "not made: " + fault.Text(err)})
		return nil
	default:
		return err
	}
}

func (e *examination) symptoms(ctx context.Context, tx pgx.Tx, c check, bounds journal.Bounds) error {
	list, err := journal.Symptoms(ctx, tx, string(c.id), bounds)
	if err != nil {
		return err
	}
	for _, s := range list {
		e.add(Finding{Check: c.id, Severity: Severity(s.Severity), Object: s.Object, Count: s.Count, AgeMS: max(0, s.AgeMS), Detail: s.Detail})
	}
	if len(list) > 0 && list[0].Total > int64(len(list)) {
		more := list[0].Total - int64(len(list))
		e.add(Finding{Check: c.id, Severity: Severity(list[0].Severity), Object: "(more)", Count: more, Detail: fmt.Sprintf("and %d more like these", more)})
	}
	return nil
}

// readFaults: what the database itself knows about holes in the fence.
func (e *examination) readFaults(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, faultsSQL)
	if err != nil {
		return err
	}
	var kind, object, detail string
	_, err = pgx.ForEachRow(rows, []any{&kind, &object, &detail}, func() error {
		id := WorkerRights
		switch kind {
		case string(UnguardedTable), string(PreparedTransaction):
			id = Check(kind)
		}
		e.add(Finding{Check: id, Severity: Error, Object: object, Detail: strings.ReplaceAll(kind, "_", " ") + ": " + detail})
		return nil
	})
	return err
}

// add fills in what to do.
func (e *examination) add(f Finding) {
	i := slices.IndexFunc(checks(), func(c check) bool { return c.id == f.Check })
	if f.Severity != OK {
		f.Remedy = strings.ReplaceAll(checks()[i].remedy, "{}", f.Object)
	}
	e.findings = append(e.findings, f)
}

// ordered are the findings in the order of the checks; a check without one is OK.
func (e *examination) ordered() []Finding {
	list := []Finding{}
	for _, c := range checks() {
		before := len(list)
		for _, f := range e.findings {
			if f.Check == c.id {
				list = append(list, f)
			}
		}
		if len(list) == before {
			list = append(list, Finding{Check: c.id, Severity: OK, Detail: c.ok})
		}
	}
	return list
}
