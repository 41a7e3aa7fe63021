package doctor

import (
	"context"
	_ "embed" // the query
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/schema"
)

//go:embed sql/functions.sql
var functionsSQL string

// definition is a function in our SQL, with its body. All of them are quoted with $$.
var definition = regexp.MustCompile(`(?s)create or replace function workflow_coordination\.(\w+)\(.*?\$\$(.*?)\$\$`)

// fence are the functions without which no other check means anything.
func fence() []string {
	return []string{"guard_write", "refuse", "is_guarded", "guard_table", "faults", "verify_guards", "check_lease", "renew_executor"}
}

// compareFunctions compares the bodies of the functions with the source of this release. It is what can be known
// without a worker's login: a guard that was replaced by one that lets everything pass.
func (e *examination) compareFunctions(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, functionsSQL)
	if err != nil {
		return err
	}
	found := map[string]string{}
	var name, body string
	if _, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error { found[name] = body; return nil }); err != nil {
		return err
	}
	for _, source := range append([]string{schema.Source()}, journal.Source()...) {
		for _, d := range definition.FindAllStringSubmatch(source, -1) {
			f := Finding{Check: GuardFunction, Severity: Warning, Object: "workflow_coordination." + d[1]}
			if slices.Contains(fence(), d[1]) {
				f.Severity = Error
			}
			body, exists := found[d[1]]
			switch {
			case !exists:
				f.Detail = "the function is missing"
			case body != d[2]:
				f.Detail = "its body is not the one of this release: an older migration, or changed by hand"
			default:
				continue
			}
			e.add(f)
		}
	}
	return nil
}
