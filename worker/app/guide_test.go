package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/localpg/localpgtest"
)

const guide = "../../docs/add-a-service.md"

// The guide's blocks are files that this package's tests build and run. `go generate ./worker/app` copies them in.
//
//go:generate env UPDATE_PAGES=1 go test -run TestTheGuideShowsWhatIsTested .
func TestTheGuideShowsWhatIsTested(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(guide)
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```(go|sql) (\\S+)\n.*?```\n")
	names := []string{}
	current := block.ReplaceAllStringFunc(string(content), func(old string) string {
		found := block.FindStringSubmatch(old)
		names = append(names, found[2])
		file, err := os.ReadFile(filepath.Join("testdata/invoices", found[2]))
		require.NoError(t, err)
		return "```" + found[1] + " " + found[2] + "\n" + string(file) + "```\n"
	})
	require.Equal(t, []string{"main.go", "note.sql", "migrations/00002_reminder.sql", "administrator.sql", "api/main.go"}, names)
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(guide, []byte(current), 0o644))
		return
	}
	require.Equal(t, current, string(content), "stale: run go generate ./worker/app")
}

func TestTheGuidesMainIsAtMostThirtyLines(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/invoices/main.go")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(file), "func main() {\n")
	require.True(t, found)
	require.LessOrEqual(t, strings.Count(body, "\n")+1, 30, "main and everything after it")
}

// Whoever follows the guide, in its order and with its names, gets a service that works.
func TestTheGuideWorks(t *testing.T) {
	t.Parallel()
	server := localpgtest.Shared(t)
	script, err := os.ReadFile("testdata/invoices/administrator.sql")
	require.NoError(t, err)
	administrator := place{server: server, admin: server.AdminURL("postgres")}
	for statement := range strings.SplitSeq(strings.TrimSpace(string(script)), ";\n") {
		administrator.exec(t, statement)
	}
	t.Cleanup(func() { administrator.exec(t, `drop database invoices with (force)`) })
	url := func(login string) string {
		return server.URL("invoices_"+login, strings.ToUpper(login)+"-PASSWORD", "invoices")
	}

	out := start(t, []string{"DATABASE_URL=" + url("owner")}, "migrate").wait(t)
	require.Equal(t, 0, out.code, out.stderr)
	worker := start(t, []string{"DATABASE_URL=" + url("worker"), "HTTP_ADDRESS=127.0.0.1:0", calm})
	worker.awaitStatus(t, "ready", 200)
	runAPI(t, url("api"), "2026-0002")
	invoices := place{admin: server.AdminURL("invoices")}
	require.Eventually(t, func() bool {
		return invoices.text(t, `select coalesce(max(invoice), '') from invoices.reminder`) == "2026-0002"
	}, patience, poll)
	worker.signal(t, syscall.SIGTERM)
	require.Equal(t, 0, worker.wait(t).code)
}
