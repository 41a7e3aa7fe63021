package policy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the import path of the tree's root.
const module = "github.com/kesita/platform"

// sdk is the import path of the DBOS SDK.
const sdk = "github.com/dbos-inc/dbos-transact-golang/dbos"

// allowMark before a declaration, or on or before a line, excuses what the
// rules marked "excusable" find there. A reason follows it.
const allowMark = "//policy:allow"

// finding is one place that breaks a rule. line is 0 when it is about the path.
type finding struct {
	path string
	line int
	text string
}

func (f finding) String() string {
	if f.line == 0 {
		return f.path + ": " + f.text
	}
	return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.text)
}

// tree is what rules look at: the files that belong to the project.
type tree struct {
	files []*file
}

// file is one file; syntax is nil unless it is Go.
type file struct {
	path   string // slash-separated, from the root
	text   string
	syntax *ast.File
	set    *token.FileSet
	// excused are line ranges under an allowMark.
	excused [][2]int
}

// load reads a tree. Left out: version control, build output, and folders of
// tools that keep their caches in the tree.
func load(root fs.FS) (*tree, error) {
	result := &tree{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", ".terraform", "test-results"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		loaded, err := loadFile(root, name)
		if err == nil {
			result.files = append(result.files, loaded)
		}
		return err
	})
	return result, err
}

func loadFile(root fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	loaded := &file{path: name, text: string(text), set: token.NewFileSet()}
	if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
		return loaded, nil
	}
	loaded.syntax, err = parser.ParseFile(loaded.set, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	loaded.collectExcuses()
	return loaded, nil
}

func (f *file) collectExcuses() {
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, allowMark) {
				line := f.line(comment)
				f.excused = append(f.excused, [2]int{line, line + 1})
			}
		}
	}
	for _, declaration := range f.syntax.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok && general.Doc != nil &&
			strings.Contains(f.source(general.Doc), allowMark) {
			f.excused = append(f.excused, [2]int{f.line(general), f.lastLine(general)})
		}
	}
}

func (f *file) excuses(line int) bool {
	return slices.ContainsFunc(f.excused, func(lines [2]int) bool { return lines[0] <= line && line <= lines[1] })
}

func (f *file) line(node ast.Node) int     { return f.set.Position(node.Pos()).Line }
func (f *file) lastLine(node ast.Node) int { return f.set.Position(node.End()).Line }

func (f *file) source(node ast.Node) string {
	return f.text[f.set.Position(node.Pos()).Offset:f.set.Position(node.End()).Offset]
}

func (f *file) dir() string { return path.Dir(f.path) }

// in says whether the file is in one of the folders or below.
func (f *file) in(folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(f.dir(), folder) })
}

func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

// forTests is a Go test file or part of a package that only tests use: below
// test, or with a name that ends in "test".
func (f *file) forTests() bool {
	return strings.HasSuffix(f.path, "_test.go") || testFolder(f.dir())
}

func testFolder(dir string) bool {
	return within(dir, "test") || strings.HasSuffix(path.Base(dir), "test")
}

// imported answers the local name of an imported package, "" without one.
func (f *file) imported(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if importOf(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func importOf(spec *ast.ImportSpec) string {
	value, _ := strconv.Unquote(spec.Path.Value) // it has been parsed
	return value
}

// goFiles are the Go files that keep accepts.
func (t *tree) goFiles(keep func(*file) bool) []*file {
	var result []*file
	for _, f := range t.files {
		if f.syntax != nil && keep(f) {
			result = append(result, f)
		}
	}
	return result
}

func all(*file) bool          { return true }
func production(f *file) bool { return !f.forTests() }

// each runs a check over the nodes of Go files.
func (t *tree) each(keep func(*file) bool, check func(*file, ast.Node) string) []finding {
	var found []finding
	for _, f := range t.goFiles(keep) {
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if node == nil {
				return false
			}
			if text := check(f, node); text != "" {
				found = append(found, finding{f.path, f.line(node), text})
			}
			return true
		})
	}
	return found
}

// selected answers Name when node is pkg.Name of the imported package.
func (f *file) selected(node ast.Node, importPath string) string {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	local := f.imported(importPath)
	if ident, ok := selector.X.(*ast.Ident); ok && local != "" && ident.Name == local {
		return selector.Sel.Name
	}
	return ""
}
