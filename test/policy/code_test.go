package policy_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// units are the names in package time that make a number a duration.
func units() []string {
	return []string{"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}
}

// stateRules are about what lives as long as the process.
func stateRules() []rule {
	return []rule{
		{
			name:  "NoInitFunctions",
			why:   "nothing runs before main decides",
			check: initFunctions,
			bad:   []map[string]string{one("worker/corpus/a.go", "package corpus\nfunc init() {}\n")},
			good:  []map[string]string{one("worker/corpus/a.go", "package corpus\ntype x struct{}\nfunc (x) init() {}\n")},
		},
		{
			name:      "NoPackageVariables",
			why:       "state belongs to values that are passed; only sentinel errors, compiled regexps, embedded files and interface checks are exempt",
			excusable: true,
			check:     packageVariables,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\nvar cache map[string]int\n"),
				one("worker/corpus/a.go", "package corpus\nvar limit = 3\n"),
			},
			good: []map[string]string{one("worker/corpus/a.go", "package corpus\n\nimport (\n\t\"embed\"\n\t\"errors\"\n\t\"regexp\"\n)\n\n"+
				"var ErrGone = errors.New(\"gone\")\nvar word = regexp.MustCompile(`\\w`)\nvar _ error = (*fault)(nil)\n"+
				"//go:embed a.sql\nvar query string\nvar (\n\t//go:embed b.sql\n\tother string\n\tErrA, ErrB = errors.New(\"a\"), fmt.Errorf(\"b: %w\", ErrGone)\n)\n"+
				"//go:embed sql\nvar files embed.FS\n")},
		},
		{
			name:      "OnlyMainAndTheWatchdogExit",
			why:       "os.Exit skips every deferred clean-up; codes are returned to main, and the forced exit is the watchdog's (K9)",
			excusable: true,
			check:     exits,
			bad: []map[string]string{
				one("worker/app/a.go", "package app\n\nimport \"os\"\n\nfunc f() {\nos.Exit(1)\n}\n"),
				one("worker/app/a.go", "package app\nimport \"log\"\nfunc f() { log.Fatal(1) }\n"),
			},
			good: []map[string]string{
				one("cmd/kesita/main.go", "package main\nimport \"os\"\nfunc main() { os.Exit(1) }\n"),
				one("coordination/watchdog/a.go", "package watchdog\nimport \"os\"\nfunc f() { os.Exit(1) }\n"),
				one("coordination/config.go", "package coordination\nimport \"os\"\nfunc f(c *Config) { c.Exit = os.Exit }\n"),
				one("worker/app/a_test.go", "package app\nimport \"os\"\nfunc f() { os.Exit(1) }\n"),
			},
		},
		{
			name:  "AnExcuseHasAReason",
			why:   "the reader must be able to judge it",
			check: excuses,
			bad:   []map[string]string{one("worker/app/a.go", "package app\n\n"+allowMark+" because\nvar a int\n")},
			good:  []map[string]string{one("worker/app/a.go", "package app\n\n"+allowMark+" the process has exactly one terminal\nvar a int\n")},
		},
	}
}

// timeRules are about waiting, skipping and calling out.
func timeRules() []rule {
	const timeImport = "package corpus\n\nimport \"time\"\n\n"
	return []rule{
		{
			name:  "NobodySleeps",
			why:   "wait for the condition itself; tests fake time with testing/synctest",
			check: sleeps,
			bad: []map[string]string{
				one("worker/corpus/a.go", timeImport+"func f() { time.Sleep(1) }\n"),
				one("worker/corpus/a_test.go", "package corpus\nimport clock \"time\"\nvar nap = clock.Sleep\n"),
			},
			good: []map[string]string{one("worker/corpus/a.go", "package corpus\nfunc f(time bed) { time.Sleep(1) }\n")},
		},
		{
			name:  "NoTestIsSkipped",
			why:   "a skipped test proves nothing and looks green",
			check: skips,
			bad: []map[string]string{
				one("worker/corpus/a_test.go", "package corpus\nfunc TestA(t *testing.T) { t.Skip(\"later\") }\n"),
				one("test/harness/a.go", "package harness\nfunc f(tb testing.TB) { tb.SkipNow() }\n"),
				one("worker/corpus/a_test.go", "package corpus\nfunc (s *suite) f() { s.T().Skipf(\"x\") }\n"),
				one("worker/corpus/a_test.go", "package corpus\nimport \"testing\"\nfunc TestA(t *testing.T) { if testing.Short() { return } }\n"),
			},
			good: []map[string]string{one("worker/corpus/a.go", "package corpus\nfunc f(r row) { r.Skipped(); reader.Skip(1) }\n")},
		},
		{
			name:      "DurationsLiveInTiming",
			why:       "one Timing value holds every duration, so that their inequalities can be checked and all can be scaled",
			excusable: true,
			check:     durations,
			bad: []map[string]string{
				one("worker/corpus/a.go", timeImport+"const patience = 5 * time.Second\n"),
				one("coordination/lease/a.go", timeImport+"func f() { g(time.Minute * 2) }\n"),
				one("coordination/lease/a.go", timeImport+"func f() { g(time.Minute) }\n"),
				one("coordination/lease/a.go", timeImport+"func f() { limit := time.Minute }\n"),
				one("coordination/lease/a.go", timeImport+"func f() { g(max(x, 2.5*time.Hour)) }\n"),
			},
			good: []map[string]string{
				one("coordination/timing/a.go", timeImport+"const patience = 5 * time.Second\n"),
				one("worker/corpus/a_test.go", timeImport+"const patience = 5 * time.Second\n"),
				one("worker/corpus/a.go", timeImport+"func f(n int, d time.Duration) { g(time.Duration(n)*time.Second, d/time.Millisecond, d.Round(time.Second)) }\n"),
			},
		},
		{
			name:  "OutboundCallsUseTheWorkersClient",
			why:   "it checks the lease before each request (F7)",
			check: defaultClients,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\nimport \"net/http\"\nfunc f() { http.Get(\"x\") }\n"),
				one("worker/corpus/a.go", "package corpus\nimport web \"net/http\"\nfunc f() { g(web.DefaultClient) }\n"),
				one("worker/corpus/a.go", "package corpus\nimport \"net/http\"\nfunc f() { g(http.DefaultTransport) }\n"),
			},
			good: []map[string]string{
				one("worker/corpus/a_test.go", "package corpus\nimport \"net/http\"\nfunc f() { http.Get(\"x\") }\n"),
				one("worker/corpus/a.go", "package corpus\nimport \"net/http\"\nfunc f(h http.Header) { h.Get(\"x\") }\n"),
			},
		},
	}
}

func initFunctions(t *tree) []finding {
	return t.each(all, func(_ *file, node ast.Node) string {
		if function, ok := node.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
			return "init function"
		}
		return ""
	})
}

func packageVariables(t *tree) []finding {
	var found []finding
	for _, f := range t.goFiles(func(f *file) bool { return !strings.HasSuffix(f.path, "_test.go") }) {
		for _, declaration := range f.syntax.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				if !f.constantLike(value) && !f.embedded(general.Doc, value.Doc) {
					found = append(found, finding{f.path, f.line(value), "package variable " + value.Names[0].Name})
				}
			}
		}
	}
	return found
}

// constantLike: sentinels, compiled patterns, and checks that a type
// implements an interface.
func (f *file) constantLike(value *ast.ValueSpec) bool {
	if !slices.ContainsFunc(value.Names, func(name *ast.Ident) bool { return name.Name != "_" }) {
		return true
	}
	for _, expression := range value.Values {
		call, ok := expression.(*ast.CallExpr)
		if !ok || !slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, f.source(call.Fun)) {
			return false
		}
	}
	return len(value.Values) > 0
}

func (f *file) embedded(comments ...*ast.CommentGroup) bool {
	return slices.ContainsFunc(comments, func(comment *ast.CommentGroup) bool {
		return comment != nil && strings.Contains(f.source(comment), "//go:embed ")
	})
}

func sleeps(t *tree) []finding {
	return t.each(all, func(f *file, node ast.Node) string {
		if f.selected(node, "time") == "Sleep" {
			return "time.Sleep"
		}
		return ""
	})
}

func skips(t *tree) []finding {
	return t.each(func(f *file) bool { return f.forTests() || f.imported("testing") != "" }, func(f *file, node ast.Node) string {
		if f.selected(node, "testing") == "Short" {
			return "testing.Short"
		}
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return ""
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
			return selector.Sel.Name
		}
		return ""
	})
}

func durations(t *tree) []finding {
	var found []finding
	keep := func(f *file) bool { return production(f) && !f.in("coordination/timing") }
	for _, f := range t.goFiles(keep) {
		excepted := map[ast.Node]bool{}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			f.exceptConversions(node, excepted)
			if slices.Contains(units(), f.selected(node, "time")) && !excepted[node] {
				found = append(found, finding{f.path, f.line(node), "duration literal"})
			}
			return true
		})
	}
	return found
}

// exceptConversions marks units that only convert: factor or divisor of
// something that is no literal, and the step of a rounding.
func (f *file) exceptConversions(node ast.Node, excepted map[ast.Node]bool) {
	switch expression := node.(type) {
	case *ast.BinaryExpr:
		_, left := expression.X.(*ast.BasicLit)
		_, right := expression.Y.(*ast.BasicLit)
		converts := expression.Op == token.MUL || expression.Op == token.QUO || expression.Op == token.REM
		excepted[expression.X] = converts && !right
		excepted[expression.Y] = converts && !left
	case *ast.CallExpr:
		selector, ok := expression.Fun.(*ast.SelectorExpr)
		if ok && len(expression.Args) == 1 && slices.Contains([]string{"Round", "Truncate"}, selector.Sel.Name) {
			excepted[expression.Args[0]] = true
		}
	}
}

func defaultClients(t *tree) []finding {
	forbidden := []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}
	return t.each(production, func(f *file, node ast.Node) string {
		if name := f.selected(node, "net/http"); slices.Contains(forbidden, name) {
			return "http." + name
		}
		return ""
	})
}

func exits(t *tree) []finding {
	keep := func(f *file) bool {
		return production(f) && !f.in("coordination/watchdog") && path.Base(f.path) != "main.go"
	}
	return t.each(keep, func(f *file, node ast.Node) string {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return ""
		}
		if f.selected(call.Fun, "os") == "Exit" {
			return "os.Exit"
		}
		if name := f.selected(call.Fun, "log"); strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic") {
			return "log." + name
		}
		return ""
	})
}

func excuses(t *tree) []finding {
	const shortestReason = 15
	var found []finding
	for _, f := range t.goFiles(all) {
		for _, group := range f.syntax.Comments {
			for _, comment := range group.List {
				reason, ok := strings.CutPrefix(comment.Text, allowMark)
				if ok && len(strings.TrimSpace(reason)) < shortestReason {
					found = append(found, finding{f.path, f.line(comment), fmt.Sprintf("reason %q", reason)})
				}
			}
		}
	}
	return found
}
