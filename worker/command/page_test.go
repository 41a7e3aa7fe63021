package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../../docs/command-line.md"

// The page shows the golden outputs. `go generate ./worker/command` copies them in.
//
//go:generate env UPDATE_PAGES=1 go test -run TestThePageShowsTheGoldenOutputs .
func TestThePageShowsTheGoldenOutputs(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	shown := []string{}
	block := regexp.MustCompile("(?s)```json (\\S+)\n.*?```\n")
	current := block.ReplaceAllStringFunc(string(content), func(old string) string {
		name := block.FindStringSubmatch(old)[1]
		shown = append(shown, filepath.Join("testdata", name))
		golden, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return "```json " + name + "\n" + string(golden) + "```\n"
	})
	all, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.ElementsMatch(t, all, shown, "every JSON document has its place on the page")
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(page, []byte(current), 0o644))
		return
	}
	require.Equal(t, current, string(content), "stale: run go generate ./worker/command")
}
