package policy_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// statement is the start of a literal that looks like SQL. Words that are also
// English need the rest of their statement.
var statement = regexp.MustCompile(`(?is)^\s*(` + strings.Join([]string{
	`select\s+(.*\sfrom\s|exists\b|\$|\*|\d|'|\w+[(.])`, `insert\s+into\s`, `update\s+\S+\s+(as\s+\S+\s+)?set\s`, `delete\s+from\s`, `merge\s+into\s`,
	`truncate\s+(table\s)?\w+`, `with\s+(recursive\s+)?\w+\s*(\(.*?\)\s*)?as\s+(not\s+materialized\s+|materialized\s+)?\(`,
	`(create|alter|drop)\s+(or\s+replace\s+)?(table|schema|database|role|user|index|unique|function|trigger|view|extension|type|sequence)\s`,
	`(grant|revoke)\s+.*\s(to|from)\s`, `do\s+\$`, `set\s+(local|session|role)\s`, `lock\s+table\s`, `(un)?listen\s+\w+$`, `notify\s+\w+`,
}, "|") + `)`)

// journalName is what only the adapter of the journal may say.
var journalName = regexp.MustCompile(`\bdbos\.[a-z_"]|\bworkflow_status\b|\b113\b`)

// definer and its path: a definer function without a pinned search_path runs
// whatever its caller puts in front (K1).
var definer = regexp.MustCompile(`(?is)create\s+(or\s+replace\s+)?function.*?\bas\s+(\$|')|create\s+(or\s+replace\s+)?function.*?\bbegin\s+atomic\b`)

// starters are the SDK's calls that start or checkpoint work.
func starters() []string {
	return []string{"RunWorkflow", "RegisterWorkflow", "RunAsStep", "Enqueue", "Go"}
}

// sqlRules are about SQL.
func sqlRules() []rule {
	return []rule{
		{
			name:      "NoSQLInGo",
			why:       "SQL lives in named .sql files, where a database person finds it",
			excusable: true,
			check:     sqlLiterals,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\n\nconst q = `select id from corpus.job`\n"),
				one("worker/corpus/a.go", "package corpus\nconst q = \"UPDATE corpus.job SET state = 1\"\n"),
				one("worker/corpus/a.go", "package corpus\nconst q = \"create table x (id int)\"\n"),
				one("worker/corpus/a.go", "package corpus\nconst q = \"\\n  with x as (select 1) insert into y select 1\"\n"),
				one("worker/corpus/a.go", "package corpus\nconst q = `select pg_advisory_lock(1)`\n"),
				one("worker/corpus/a.go", "package corpus\nconst q = `set local lock_timeout = 1`\n"),
			},
			good: []map[string]string{
				one("worker/corpus/a_test.go", "package corpus\nconst q = `select id from corpus.job`\n"),
				one("test/harness/a.go", "package harness\nconst q = `delete from corpus.job`\n"),
				one("worker/corpus/a.go", "package corpus\n\nimport \"fmt\"\n\nconst a = \"select a file\"\nconst b = \"update the index\"\n"+
					"var err = fmt.Errorf(\"create database %s: %w\", a, b)\n"),
			},
		},
		{
			name:  "EverySQLFileSaysPurposeLocksAndCaller",
			why:   "the header comment is the contract of the statement",
			check: sqlHeaders,
			bad: []map[string]string{
				one("worker/corpus/a.sql", "select 1;\n-- purpose: x. locks: none. called by: y\n"),
				one("worker/corpus/a.sql", "-- purpose: x. called by: y\nselect 1\n"),
			},
			good: []map[string]string{
				one("worker/corpus/a.sql", "-- +goose Up\n-- Purpose: x.\n--\n-- Locks: none.\n-- Called by: y\n\nselect 1\n"),
			},
		},
		{
			name:  "DefinerFunctionsPinTheirSearchPath",
			why:   "otherwise a caller's schema decides what they run (K1)",
			check: definers,
			bad: []map[string]string{
				one("a.sql", "create function f() returns int language sql security definer as $$ select 1 $$;\n"),
			},
			good: []map[string]string{
				one("a.sql", "create or replace function f() returns int language sql security definer set search_path = pg_catalog as $$ select 1 $$;\n"+
					"create function g() returns int language sql as $$ select 1 $$;\n"),
			},
		},
	}
}

// rowRule is what rowserrcheck would do if it knew pgx's own loops.
func rowRule() rule {
	const open = "package store\n\nimport \"github.com/jackc/pgx/v5\"\n\nfunc f(rows pgx.Rows) error {\n"
	return rule{
		name:  "AReadOfRowsAsksForTheirError",
		why:   "a lost connection looks like the last row; pgx.CollectRows and pgx.ForEachRow ask by themselves",
		check: uncheckedRows,
		bad:   []map[string]string{one("worker/corpus/a.go", open+"for rows.Next() {\n}\nreturn nil\n}\n")},
		good: []map[string]string{
			one("worker/corpus/a.go", open+"for rows.Next() {\n}\nreturn rows.Err()\n}\n"),
			one("worker/corpus/a.go", open+"_, err := pgx.ForEachRow(rows, nil, nil)\nreturn err\n}\n"),
			one("worker/corpus/a.go", "package corpus\n\nfunc f(words scanner) {\nfor words.Next() {\n}\n}\n"),
		},
	}
}

// journalRules are about the one place that knows the SDK's tables and calls.
func journalRules() []rule {
	return []rule{
		{
			name:  "OnlyTheJournalAdapterNamesTheSDKsTables",
			why:   "an upgrade of the SDK must touch one package",
			check: journalNames,
			bad: []map[string]string{
				one("worker/corpus/a.sql", "select 1 from dbos.notifications"),
				one("coordination/lease/a.go", "package lease\nconst q = \"workflow_status\"\n"),
				one("coordination/lease/a.go", "package lease\nconst catalog = 113\n"),
			},
			good: []map[string]string{
				one("coordination/journal/a.sql", "select 1 from dbos.workflow_status"),
				one("coordination/lease/a_test.go", "package lease\nconst catalog = 113\n"),
				one("coordination/lease/a.sql", "-- not dbos.workflow_status\nselect 1113"),
				one("coordination/lease/a.go", "package lease\n\nimport \"github.com/dbos-inc/dbos-transact-golang/dbos\"\n\n// not 113\nfunc f(dbos.Context) {}\n"),
			},
		},
		{
			name:  "OnlyTheWrappersStartWorkflowsAndSteps",
			why:   "they hold the lease checks, the budgets and the named, limited queues (K5, K7)",
			check: sdkCalls,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\nimport \""+sdk+"\"\nfunc f() { dbos.RunWorkflow(c, w, 1) }\n"),
				one("coordination/recovery/a.go", "package recovery\nimport d \""+sdk+"\"\nvar _ = d.RunAsStep[int]\n"),
				one("worker/corpus/a.go", "package corpus\nimport \""+sdk+"\"\nvar _ dbos.Context\n"),
			},
			good: []map[string]string{
				one("coordination/workflow/a.go", "package workflow\nimport \""+sdk+"\"\nfunc f() { dbos.RunWorkflow(c, w, 1) }\n"),
				one("worker/corpus/a_test.go", "package corpus\nimport \""+sdk+"\"\nfunc f() { dbos.Enqueue(c) }\n"),
			},
		},
	}
}

func sqlLiterals(t *tree) []finding {
	var found []finding
	for _, f := range t.goFiles(production) {
		texts := map[ast.Node]bool{} // error texts
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && len(call.Args) > 0 &&
				(f.selected(call.Fun, "fmt") == "Errorf" || f.selected(call.Fun, "errors") == "New") {
				texts[call.Args[0]] = true
			}
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || texts[literal] {
				return true
			}
			if value, err := strconv.Unquote(literal.Value); err == nil && statement.MatchString(value) {
				found = append(found, finding{f.path, f.line(literal), "SQL literal"})
			}
			return true
		})
	}
	return found
}

func journalNames(t *tree) []finding {
	const adapter = "coordination/journal"
	found := t.each(func(f *file) bool { return production(f) && !f.in(adapter) }, func(_ *file, node ast.Node) string {
		if literal, ok := node.(*ast.BasicLit); ok && journalName.MatchString(literal.Value) && !strings.Contains(literal.Value, sdk) {
			return "names the journal: " + literal.Value
		}
		return ""
	})
	for _, f := range t.sqlFiles() {
		if f.in(adapter, "test") {
			continue
		}
		for number, line := range strings.Split(f.text, "\n") {
			code, _, _ := strings.Cut(line, "--")
			if name := journalName.FindString(code); name != "" {
				found = append(found, finding{f.path, number + 1, "names the journal: " + name})
			}
		}
	}
	return found
}

func sdkCalls(t *tree) []finding {
	wrappers := []string{"coordination/workflow", "coordination/submit", "coordination/probe", "coordination/journal"}
	return t.each(production, func(f *file, node ast.Node) string {
		if spec, ok := node.(*ast.ImportSpec); ok && importOf(spec) == sdk && !f.in("coordination") {
			return "imports the SDK; services see coordination/workflow"
		}
		if name := f.selected(node, sdk); slices.Contains(starters(), name) && !f.in(wrappers...) {
			return "dbos." + name
		}
		return ""
	})
}

func sqlHeaders(t *tree) []finding {
	var found []finding
	for _, f := range t.sqlFiles() {
		header := strings.ToLower(sqlHeader(f.text))
		for _, part := range []string{"purpose:", "locks:", "called by:"} {
			if !strings.Contains(header, part) {
				found = append(found, finding{f.path, 1, "the header comment does not say " + strconv.Quote(part)})
			}
		}
	}
	return found
}

// sqlHeader is the comment before the first statement.
func sqlHeader(text string) string {
	var header []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			break
		}
		header = append(header, line)
	}
	return strings.Join(header, "\n")
}

func uncheckedRows(t *tree) []finding {
	usesRows := func(f *file) bool {
		return f.imported("github.com/jackc/pgx/v5") != "" || f.imported("database/sql") != ""
	}
	return t.each(usesRows, func(_ *file, node ast.Node) string {
		function, ok := node.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			return ""
		}
		for rows := range calledOn(function.Body, "Next") {
			if !calledOn(function.Body, "Err")[rows] {
				return function.Name.Name + " never asks " + rows + ".Err()"
			}
		}
		return ""
	})
}

// calledOn lists the variables whose method is called without arguments.
func calledOn(body ast.Node, method string) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) > 0 {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == method {
			if name, ok := selector.X.(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

func definers(t *tree) []finding {
	var found []finding
	for _, f := range t.sqlFiles() {
		for _, place := range definer.FindAllStringIndex(f.text, -1) {
			head := strings.ToLower(f.text[place[0]:place[1]])
			if strings.Contains(head, "security definer") && !strings.Contains(head, "set search_path") {
				line := 1 + strings.Count(f.text[:place[0]], "\n")
				found = append(found, finding{f.path, line, "security definer without set search_path"})
			}
		}
	}
	return found
}

func (t *tree) sqlFiles() []*file {
	var result []*file
	for _, f := range t.files {
		if path.Ext(f.path) == ".sql" {
			result = append(result, f)
		}
	}
	return result
}
