package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/doctor"
	"github.com/kesita/platform/coordination/explain"
)

const operationsPage = "../../docs/operations.md"

// `go generate ./worker/command` copies the golden texts in.
func TestThePageShowsTheGoldenOutputsOfOperations(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(operationsPage)
	require.NoError(t, err)
	shown := 0
	block := regexp.MustCompile("(?s)```text (\\S+)\n.*?```\n")
	current := block.ReplaceAllStringFunc(string(content), func(old string) string {
		shown++
		name := block.FindStringSubmatch(old)[1]
		golden, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return "```text " + name + "\n" + string(golden) + "```\n"
	})
	require.Positive(t, shown)
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(operationsPage, []byte(current), 0o644))
		return
	}
	require.Equal(t, current, string(content), "stale: run go generate ./worker/command")
}

// Both lists are closed, and whoever meets a word of them finds it on the page: in the order of the program.
func TestThePageNamesEveryCheckAndEveryCause(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(operationsPage)
	require.NoError(t, err)
	var rows []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(content), -1) {
		rows = append(rows, match[1])
	}
	var want []string
	for _, c := range doctor.Checks() {
		want = append(want, string(c))
	}
	for _, c := range explain.Causes() {
		want = append(want, string(c))
	}
	require.Equal(t, want, rows)
}
