package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// bench has one test binary a package. Where the code embeds an SQL file that some mutant changes, the binary reads it
// at its start instead, so that such a mutant needs no compiler.
type bench struct {
	root, dir string
}

// sqlVariable names the folder from which a bench's binary reads changed SQL; what is not there comes from the tree.
const sqlVariable = "MUTANT_SQL"

// newBench compiles the tests of all mutants and runs them once on the code as it is: a test that fails anyway kills
// nothing.
func newBench(ctx context.Context, root, dir string, all []mutant) (bench, error) {
	b := bench{root: root, dir: dir}
	readers, err := b.writeReaders(all)
	if err != nil {
		return b, err
	}
	path, err := overlay(root, dir, readers)
	if err != nil {
		return b, err
	}
	tests := map[string][]string{}
	for _, m := range all {
		tests[m.pkg] = append(tests[m.pkg], m.test)
	}
	for pkg, names := range tests {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", path, "-o", b.binary(pkg), pkg)
		if output, err := build.CombinedOutput(); err != nil {
			return b, fmt.Errorf("compile tests of %s: %w\n%s", pkg, err, output)
		}
		if output, err := b.command(ctx, pkg, names, "").CombinedOutput(); err != nil {
			return b, fmt.Errorf("tests of %s fail without any mutant: %w\n%s", pkg, err, output)
		}
	}
	return b, nil
}

func (b bench) binary(pkg string) string {
	return filepath.Join(b.dir, strings.NewReplacer("/", "_", ".", "").Replace(pkg)+".test")
}

// command runs tests of a package with the SQL files that are in the folder sql.
func (b bench) command(ctx context.Context, pkg string, tests []string, sql string) *exec.Cmd {
	command := exec.CommandContext(ctx, b.binary(pkg), "-test.v", "-test.failfast", "-test.timeout=3m", "-test.run", pattern(tests))
	command.Dir = filepath.Join(b.root, pkg)
	command.Env = append(os.Environ(), sqlVariable+"="+sql)
	return command
}

// writeReaders writes, for each SQL file of a mutant, the Go file that embeds it with the embedding replaced by reading.
func (b bench) writeReaders(all []mutant) (written []string, err error) {
	texts := map[string]string{}
	done := map[string]bool{}
	for _, m := range all {
		for _, c := range m.changes {
			if filepath.Ext(c.file) != ".sql" || done[c.file] {
				continue
			}
			done[c.file] = true
			if err := b.replaceEmbedding(c.file, texts); err != nil {
				return nil, err
			}
		}
	}
	for file, text := range texts {
		if err := put(filepath.Join(b.dir, file), text); err != nil {
			return nil, err
		}
		written = append(written, file)
	}
	return written, nil
}

func (b bench) replaceEmbedding(sql string, texts map[string]string) error {
	folder := strings.TrimSuffix(filepath.Dir(sql), "/sql")
	name := strings.TrimPrefix(sql, folder+"/")
	embedding := regexp.MustCompile(`(?m)^//go:embed ` + regexp.QuoteMeta(name) + `\nvar (\w+) string$`)
	sources, err := filepath.Glob(filepath.Join(b.root, folder, "*.go"))
	if err != nil {
		return err
	}
	for _, source := range sources {
		file := strings.TrimPrefix(source, b.root+"/")
		text, changed := texts[file]
		if !changed {
			data, err := os.ReadFile(filepath.Clean(source))
			if err != nil {
				return err
			}
			text = string(data)
		}
		if !embedding.MatchString(text) {
			continue
		}
		if !changed {
			text = regexp.MustCompile(`(?m)^package \w+$`).ReplaceAllString(text, "$0\n\nimport mutantos \"os\"\n")
		}
		texts[file] = embedding.ReplaceAllString(text, fmt.Sprintf(`var $1 = func() string {
	text, err := mutantos.ReadFile(mutantos.Getenv(%q) + %q)
	if err != nil {
		text, err = mutantos.ReadFile(%q)
	}
	if err != nil {
		panic(err)
	}
	return string(text)
}()`, sqlVariable, "/"+sql, filepath.Join(b.root, sql)))
		return nil
	}
	return fmt.Errorf("%s: nothing in %s embeds it", sql, folder)
}
