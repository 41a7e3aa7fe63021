package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// errSurvived says that no test noticed a mutant.
var errSurvived = errors.New("SURVIVED")

// outcome is how go test tells the end of one test.
var outcome = regexp.MustCompile(`(?m)^ *--- (FAIL|PASS): (\S+) `)

// atOnce is how many mutants live at the same time; each has a PostgreSQL server of its own.
const atOnce = 2

// run tries each mutant whose name contains one of the words, all without any, and returns the exit status.
func run(ctx context.Context, all []mutant, words []string, out io.Writer) int {
	chosen := slices.DeleteFunc(all, func(m mutant) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(m.name, word) })
	})
	lost, err := tryAll(ctx, chosen, out)
	switch {
	case err != nil:
		fmt.Fprintln(out, err)
		return 1
	case lost > 0:
		fmt.Fprintf(out, "%d of %d mutants were not killed\n", lost, len(chosen))
		return 1
	}
	fmt.Fprintf(out, "all %d mutants were killed\n", len(chosen))
	return 0
}

func tryAll(ctx context.Context, all []mutant, out io.Writer) (lost int, err error) {
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := newBench(ctx, root, dir, all)
	if err != nil {
		return 0, err
	}
	verdicts := make([]chan string, len(all))
	for i := range verdicts {
		verdicts[i] = make(chan string, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				verdicts[i] <- b.verdict(ctx, all[i])
			}
		})
	}
	workers.Go(func() {
		for i := range all {
			next <- i
		}
		close(next)
	})
	for i, m := range all {
		verdict := <-verdicts[i]
		if !strings.HasPrefix(verdict, "killed") {
			lost++
		}
		fmt.Fprintf(out, "%-52s %s\n", m.name, verdict)
	}
	workers.Wait()
	return lost, ctx.Err()
}

func (b bench) verdict(ctx context.Context, m mutant) string {
	killer, err := b.try(ctx, m)
	if err != nil {
		return err.Error()
	}
	return "killed by " + killer
}

// try returns the name of the test that noticed the mutant.
func (b bench) try(ctx context.Context, m mutant) (killer string, err error) {
	dir, err := os.MkdirTemp(b.dir, "one")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, err := m.write(b.root, dir)
	if err != nil {
		return "", fmt.Errorf("OUT OF DATE: %w", err)
	}
	command := b.command(ctx, m.pkg, []string{m.test}, dir)
	if !m.inSQL() {
		path, err := overlay(b.root, dir, files)
		if err != nil {
			return "", err
		}
		command = exec.CommandContext(ctx, "go", "test", "-overlay", path, "-vet=off", "-ldflags=-s -w", "-v", "-failfast",
			"-count=1", "-timeout=3m", "-run", pattern([]string{m.test}), m.pkg)
	}
	output, failed := command.CombinedOutput()
	return judge(ctx, m, string(output), failed)
}

func judge(ctx context.Context, m mutant, output string, failed error) (killer string, err error) {
	var ran bool
	for _, found := range outcome.FindAllStringSubmatch(output, -1) {
		ran = ran || found[2] == m.test
		if found[1] == "FAIL" && len(found[2]) > len(killer) {
			killer = found[2]
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case killer != "":
		return killer, nil
	case failed != nil:
		return "", fmt.Errorf("BROKEN: no test failed, but the run did: %w\n%s", failed, output)
	case !ran:
		return "", fmt.Errorf("OUT OF DATE: %s has no test %s", m.pkg, m.test)
	}
	return "", errSurvived
}
