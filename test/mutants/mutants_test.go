package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryMutantStillFindsItsTextAndItsTest(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutants() {
		require.False(t, names[m.name], "two are called %q", m.name)
		names[m.name] = true
		_, err := m.write("../..", t.TempDir())
		require.NoError(t, err, m.name)
		files, err := filepath.Glob(filepath.Join("../..", m.pkg, "*_test.go"))
		require.NoError(t, err)
		var tests strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(filepath.Clean(file))
			require.NoError(t, err)
			tests.Write(text)
		}
		top, _, _ := strings.Cut(m.test, "/")
		require.Contains(t, tests.String(), "func "+top+"(t *testing.T)", m.name)
	}
}

func TestOnlyAFailedTestKills(t *testing.T) {
	t.Parallel()
	const named = "TestFence/Inner"
	for name, c := range map[string]struct {
		output string
		failed error
		killer string
		err    string
	}{
		"Failed":      {"--- FAIL: TestFence (0.01s)\n    --- FAIL: TestFence/Inner (0.01s)\nFAIL\n", errors.New("exit status 1"), named, ""},
		"Passed":      {"--- PASS: TestFence (0.01s)\n    --- PASS: TestFence/Inner (0.01s)\nPASS\n", nil, "", "SURVIVED"},
		"NothingRan":  {"testing: warning: no tests to run\nPASS\n", nil, "", "OUT OF DATE"},
		"NotCompiled": {"x.go:1: undefined: y\nFAIL\n", errors.New("exit status 1"), "", "BROKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killer, err := judge(t.Context(), mutant{test: named}, c.output, c.failed)
			require.Equal(t, c.killer, killer)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

func TestAPatternSelectsTheNamedTestsOnly(t *testing.T) {
	t.Parallel()
	levels := strings.Split(pattern([]string{"TestA/in one", "TestA/two", "TestB"}), "/")
	require.Equal(t, []string{"^(TestA|TestB)$", "^(in one|two)$"}, levels)
	require.False(t, regexp.MustCompile(levels[0]).MatchString("TestAB"))
}
