// Package policy_test holds the house rules that a machine can check. Each rule
// comes with fixtures that it must flag and fixtures that it must leave alone, so that
// a rule which has stopped seeing fails too.
package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// rule is one house rule.
type rule struct {
	name string
	why  string
	// excusable rules yield to `//policy:allow reason`.
	excusable bool
	check     func(*tree) []finding
	// bad and good are small trees: path to text. Each bad one must be
	// flagged, no good one may be.
	bad, good []map[string]string
}

func rules() []rule {
	return slices.Concat(shapeRules(), stateRules(), timeRules(), sqlRules(), []rule{rowRule()}, journalRules(), treeRules(), importRules(), outboundRules())
}

func (r rule) run(t *tree) []finding {
	found := r.check(t)
	if !r.excusable {
		return found
	}
	return slices.DeleteFunc(found, func(f finding) bool {
		index := slices.IndexFunc(t.files, func(candidate *file) bool { return candidate.path == f.path })
		return t.files[index].excuses(f.line)
	})
}

func TestTheRepositoryKeepsTheHouseRules(t *testing.T) {
	t.Parallel()
	repository, err := load(os.DirFS("../.."))
	require.NoError(t, err)
	require.NotEmpty(t, repository.goFiles(production))
	for _, rule := range rules() {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, found := range rule.run(repository) {
				t.Errorf("%s (%s)", found, rule.why)
			}
		})
	}
}

func TestEachRuleSeesWhatBreaksItAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, rule := range rules() {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, rule.bad)
			for _, bad := range rule.bad {
				require.NotEmpty(t, rule.run(fixture(t, bad)), "not flagged: %v", bad)
			}
			for _, good := range rule.good {
				require.Empty(t, rule.run(fixture(t, good)), "flagged: %v", good)
			}
			if rule.excusable {
				requireExcusable(t, rule)
			}
		})
	}
}

// requireExcusable puts the mark before each line of the first bad fixture.
func requireExcusable(t *testing.T, r rule) {
	t.Helper()
	excused := map[string]string{}
	for name, text := range r.bad[0] {
		excused[name] = strings.ReplaceAll(text, "\n", "\n"+allowMark+" a fixture that shows an excuse\n")
	}
	require.Empty(t, r.run(fixture(t, excused)), "not excused: %v", excused)
}

func fixture(t *testing.T, files map[string]string) *tree {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	result, err := load(root)
	require.NoError(t, err)
	return result
}

// one is a tree of one file.
func one(name, text string) map[string]string { return map[string]string{name: text} }
