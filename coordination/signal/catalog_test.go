package signal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
)

const page = "../../docs/signals.md"

const intro = `# Signals

Every line that a worker writes is one JSON object with the fields ` + "`operation`" + ` and ` + "`reason`" + ` (and ` + "`executor_id`" + `,
` + "`workflow_id`" + ` where there is one). The pairs below are all there are; alerts and runbooks rely on them.
[signals.json](signals.json) is the same list for programs.

`

// O1: the documents are the code's own list.
//
//go:generate env UPDATE_PAGES=1 go test -run TestTheSignalDocumentsAreCurrent .
func TestTheSignalDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	document, err := signal.Document()
	require.NoError(t, err)
	for path, want := range map[string]string{page: intro + signal.Table(), "../../docs/signals.json": string(document)} {
		if os.Getenv("UPDATE_PAGES") != "" {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "stale: go generate ./coordination/signal")
	}
}

// O1: a name that no line uses, or a line that nobody documented, is a fault.
func TestEveryDeclaredNameIsInTheCatalogAndEveryWrittenPairIsDocumented(t *testing.T) {
	t.Parallel()
	names := declared(t)
	known := map[string]string{}
	used := map[string]bool{}
	for _, l := range signal.Catalog() {
		known[string(l.Operation)+" "+string(l.Reason)] = l.Level.String()
		require.NotEmpty(t, l.Meaning)
		used[string(l.Operation)], used[string(l.Reason)] = true, true
	}
	require.Len(t, known, len(signal.Catalog()), "a pair stands twice")
	for name, value := range names {
		require.True(t, used[value], "%s (%s) is in no line of the catalog", name, value)
	}
	pairs := written(t, names)
	require.Greater(t, len(pairs), 20)
	for pair, level := range pairs {
		require.Equal(t, level, known[pair], "%s is written at this level", pair)
	}
}

// Reasons that boot decides at run time are startup lines.
func TestEveryStartupVerdictIsInTheCatalog(t *testing.T) {
	t.Parallel()
	known := map[signal.Reason]bool{}
	for _, l := range signal.Catalog() {
		if l.Operation == signal.Startup {
			known[l.Reason] = true
		}
	}
	source, err := os.ReadFile("../boot/boot.go")
	require.NoError(t, err)
	names := declared(t)
	verdicts := regexp.MustCompile(`(?:fatal\(|Reason: )signal\.(\w+)`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(verdicts), 10)
	for _, v := range verdicts {
		require.True(t, known[signal.Reason(names[v[1]])], v[1])
	}
}

// declared reads the constants of signal.go: name to value.
func declared(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "signal.go", nil, 0)
	require.NoError(t, err)
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				names[spec.Names[0].Name] = strings.Trim(lit.Value, `"`)
			}
		}
		return true
	})
	require.Greater(t, len(names), 40)
	return names
}

// written finds the calls that name both operation and reason, and those that trip the watchdog.
func written(t *testing.T, names map[string]string) map[string]string {
	t.Helper()
	pairs := map[string]string{}
	for _, root := range []string{"..", "../../worker"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					note(call, names, pairs)
				}
				return true
			})
			return nil
		}))
	}
	return pairs
}

func note(call *ast.CallExpr, names, pairs map[string]string) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	levels := map[string]string{"Info": "INFO", "Warn": "WARN", "Error": "ERROR", "Debug": "DEBUG"}
	switch {
	case selector.Sel.Name == "Trip" && len(call.Args) > 0:
		if reason := name(call.Args[0]); names[reason] != "" {
			pairs[string(signal.Watchdog)+" "+names[reason]] = "ERROR"
		}
	case levels[selector.Sel.Name] != "" && len(call.Args) > 2:
		if op, reason := names[name(call.Args[1])], names[name(call.Args[2])]; op != "" && reason != "" {
			pairs[op+" "+reason] = levels[selector.Sel.Name]
		}
	}
}

func name(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "signal" {
			return s.Sel.Name
		}
	}
	return ""
}
