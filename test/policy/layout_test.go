package policy_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// machinePath is a place of one machine. It is put together, or this file would break
// its own rule.
var machinePath = regexp.MustCompile(`/` + `(work/(main|shared)|tmp/k|home/\w+|Users/\w+)/`)

// topEntries are all that stands at the root, besides dotfiles.
func topEntries() []string {
	return []string{
		"go.mod", "go.sum", "worker", "coordination", "infra", "modules", "environments", "test",
		"Dockerfile", "Makefile", "cmd", "docs", "README.md", "LICENSE", "compose.yaml",
	}
}

// treeRules are about names and places of files.
func treeRules() []rule {
	return []rule{
		{
			name:  "TheRootHoldsOnlyWhatIsAgreed",
			why:   "a visitor reads the root first",
			check: rootEntries,
			bad:   []map[string]string{one("scripts/x.sh", ""), one("notes.md", "")},
			good:  []map[string]string{one("worker/app/x.go", "package app\n"), one(".gitignore", ""), one(".ci/run", ""), one("README.md", "")},
		},
		{
			name:  "NoDumpingGrounds",
			why:   "one mechanism, one package, one noun",
			check: dumpingGrounds,
			bad:   []map[string]string{one("worker/util/a.go", "package util\n"), one("worker/corpus/helpers/a.go", "package helpers\n")},
			good:  []map[string]string{one("worker/corpus/split/a.go", "package split\n")},
		},
		{
			name:  "NoPathsOfOneMachine",
			why:   "the tree works wherever it is cloned",
			check: machinePaths,
			bad:   []map[string]string{one("docs/a.md", "see "+strings.Join([]string{"", "work", "main", "x"}, "/")), one("Makefile", "cd "+strings.Join([]string{"", "home", "ann", "k"}, "/"))},
			good:  []map[string]string{one("docs/a.md", "a worker/main/loop, /usr/lib/postgresql/15/bin and /tmp/kesita")},
		},
		{
			name:  "TheModuleReplacesNothing",
			why:   "a replace directive does not reach those who import us",
			check: replaces,
			bad:   []map[string]string{one("go.mod", "module x\n\nreplace a => b v1\n")},
			good:  []map[string]string{one("go.mod", "module x\n\nrequire a v1 // replaces b\n")},
		},
	}
}

func rootEntries(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		top, _, _ := strings.Cut(f.path, "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(topEntries(), top) {
			found = append(found, finding{f.path, 0, "not an agreed entry of the root: " + top})
		}
	}
	return found
}

func dumpingGrounds(t *tree) []finding {
	words := []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "models", "shared", "lib"}
	var found []finding
	for _, f := range t.files {
		for folder := range strings.SplitSeq(path.Dir(f.path), "/") {
			if slices.Contains(words, folder) {
				found = append(found, finding{f.path, 0, "folder " + folder + " names no mechanism"})
			}
		}
	}
	return found
}

func machinePaths(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		for number, line := range strings.Split(f.text, "\n") {
			if place := machinePath.FindString(line); place != "" {
				found = append(found, finding{f.path, number + 1, "names " + place})
			}
		}
	}
	return found
}

func replaces(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		if path.Base(f.path) != "go.mod" {
			continue
		}
		for number, line := range strings.Split(f.text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "replace ") {
				found = append(found, finding{f.path, number + 1, "replace directive"})
			}
		}
	}
	return found
}
