package policy_test

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

const (
	longestMain     = 30
	longestFile     = 400
	longestTestFile = 600
	longestFunction = 70
)

// shapeRules are about packages, files and functions.
func shapeRules() []rule {
	return []rule{
		{
			name:  "EveryPackageOpensWithOneContractComment",
			why:   "what it owns, who is authoritative, what it must not know, its answer to failure",
			check: contractComments,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\n"),
				one("worker/corpus/a.go", "// Package corpus is short.\npackage corpus\n"),
				{
					"worker/corpus/a.go": contract("corpus") + "package corpus\n",
					"worker/corpus/b.go": contract("corpus") + "package corpus\n",
				},
			},
			good: []map[string]string{
				{
					"worker/corpus/doc.go": contract("corpus") + "package corpus\n",
					"worker/corpus/b.go":   "package corpus\n",
				},
				one("cmd/kesita/main.go", "// Kesita is the command line.\npackage main\n"),
				one("worker/corpus/only_test.go", "package corpus_test\n"),
			},
		},
		{
			name:  "AMainIsShortAndAlone",
			why:   "wiring belongs to worker/app, where tests reach it",
			check: mains,
			bad: []map[string]string{
				one("cmd/kesita/main.go", "// Kesita.\npackage main\n"+strings.Repeat("\n", longestMain)),
				one("cmd/kesita/flags.go", "package main\n"),
			},
			good: []map[string]string{one("cmd/kesita/main.go", "// Kesita.\npackage main\n\nfunc main() {}\n")},
		},
		{
			name:  "FilesAreShort",
			why:   fmt.Sprintf("%d lines, tests %d", longestFile, longestTestFile),
			check: fileLengths,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\n"+strings.Repeat("\n", longestFile)),
				one("worker/corpus/a_test.go", "package corpus\n"+strings.Repeat("\n", longestTestFile)),
			},
			good: []map[string]string{
				one("worker/corpus/a.go", "package corpus\n"+strings.Repeat("\n", longestFile-1)),
				one("worker/corpus/a_test.go", "package corpus\n"+strings.Repeat("\n", longestTestFile-1)),
			},
		},
		{
			name:  "FunctionsAreShort",
			why:   fmt.Sprintf("%d lines; a subtest counts as a function of its own", longestFunction),
			check: functionLengths,
			bad: []map[string]string{
				one("worker/corpus/a.go", "package corpus\nfunc f() {"+strings.Repeat("\n", longestFunction+2)+"}\n"),
				one("worker/corpus/a_test.go", "package corpus\nfunc f() {"+strings.Repeat("\n", longestFunction+2)+"}\n"),
				one("worker/corpus/a_test.go", "package corpus\nfunc f() {\n t.Run(\"x\", func() {"+strings.Repeat("\n", longestFunction+2)+"})}\n"),
			},
			good: []map[string]string{
				one("worker/corpus/a.go", "package corpus\nfunc f() {"+strings.Repeat("\n", longestFunction+1)+"}\n"),
				one("worker/corpus/a_test.go", "package corpus\nfunc f() {\n"+
					strings.Repeat(" t.Run(\"x\", func() {"+strings.Repeat("\n", longestFunction-10)+"})\n", 3)+"}\n"),
			},
		},
	}
}

func contract(name string) string {
	return "// Package " + name + " is a fixture. It owns nothing and knows nobody.\n// Its answer to failure is to return an error to the one who asked.\n"
}

// shortestContract is in bytes; less cannot say what a contract must.
const shortestContract = 80

func contractComments(t *tree) []finding {
	type state struct {
		name  string
		first string
		docs  []string
		text  string
	}
	packages := map[string]*state{}
	var order []string
	for _, f := range t.goFiles(func(f *file) bool { return !strings.HasSuffix(f.path, "_test.go") }) {
		known := packages[f.dir()]
		if known == nil {
			known = &state{name: f.syntax.Name.Name, first: f.path}
			packages[f.dir()] = known
			order = append(order, f.dir())
		}
		if f.syntax.Doc != nil {
			known.docs = append(known.docs, f.path)
			known.text = f.syntax.Doc.Text()
		}
	}
	var found []finding
	for _, dir := range order {
		switch known := packages[dir]; {
		case len(known.docs) == 0:
			found = append(found, finding{known.first, 1, "package " + known.name + " has no contract comment"})
		case len(known.docs) > 1:
			found = append(found, finding{known.docs[1], 1, "a second package comment; the first is in " + known.docs[0]})
		case known.name != "main" && (!strings.HasPrefix(known.text, "Package "+known.name+" ") || len(known.text) < shortestContract):
			found = append(found, finding{known.docs[0], 1, "the comment of package " + known.name + " is no contract"})
		}
	}
	return found
}

func mains(t *tree) []finding {
	var found []finding
	for _, f := range t.goFiles(func(f *file) bool { return f.in("cmd") && !strings.HasSuffix(f.path, "_test.go") }) {
		if path.Base(f.path) != "main.go" {
			found = append(found, finding{f.path, 1, "a command is one main.go"})
		}
		if count := lines(f); count > longestMain {
			found = append(found, finding{f.path, count, fmt.Sprintf("main.go has %d lines, at most %d are allowed", count, longestMain)})
		}
	}
	return found
}

func fileLengths(t *tree) []finding {
	var found []finding
	for _, f := range t.goFiles(func(f *file) bool { return !ast.IsGenerated(f.syntax) }) {
		limit := longestFile
		if strings.HasSuffix(f.path, "_test.go") {
			limit = longestTestFile
		}
		if count := lines(f); count > limit {
			found = append(found, finding{f.path, count, fmt.Sprintf("%d lines, at most %d are allowed", count, limit)})
		}
	}
	return found
}

func lines(f *file) int { return strings.Count(f.text, "\n") }

func functionLengths(t *tree) []finding {
	return t.each(all, func(f *file, node ast.Node) string {
		var body *ast.BlockStmt
		name := "function literal"
		switch function := node.(type) {
		case *ast.FuncDecl:
			body, name = function.Body, function.Name.Name
		case *ast.FuncLit:
			body = function.Body
		}
		if body == nil {
			return ""
		}
		if count := f.inner(body) - f.subtests(body); count > longestFunction {
			return fmt.Sprintf("%s has %d lines, at most %d are allowed", name, count, longestFunction)
		}
		return ""
	})
}

// inner counts the lines between the braces.
func (f *file) inner(body *ast.BlockStmt) int {
	return max(0, f.lastLine(body)-f.line(body)-1)
}

// subtests counts the lines inside the literals given to X.Run in a test file.
func (f *file) subtests(body *ast.BlockStmt) int {
	if !strings.HasSuffix(f.path, "_test.go") {
		return 0
	}
	count := 0
	ast.Inspect(body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); !ok || selector.Sel.Name != "Run" || len(call.Args) != 2 {
			return true
		}
		if literal, ok := call.Args[1].(*ast.FuncLit); ok {
			count += f.inner(literal.Body)
			return false
		}
		return true
	})
	return count
}
