// Package docs_test proves that what the documentation names is there: files, headings, make targets, commands,
// functions, durations. It reads README.md and docs, and knows nothing of style.
package docs_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/worker/command"
)

const root = "../.."

// page is one file of the documentation.
type page struct {
	path string // from the root
	text string
}

func pages(t *testing.T) []page {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	var list []page
	for _, name := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		relative, err := filepath.Rel(root, name)
		require.NoError(t, err)
		list = append(list, page{filepath.ToSlash(relative), string(text)})
	}
	return list
}

func read(t *testing.T, name string) page {
	t.Helper()
	list := pages(t)
	i := slices.IndexFunc(list, func(p page) bool { return p.path == name })
	require.GreaterOrEqual(t, i, 0, name)
	return list[i]
}

func exists(name string) bool {
	matches, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(name))) // a bad pattern matches nothing
	return len(matches) > 0
}

// spans are the texts in backticks outside of blocks; code is them and the lines of shell blocks.
func (p page) spans() []string {
	var found []string
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(p.text, "")
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(prose, -1) {
		found = append(found, strings.Join(strings.Fields(match[1]), " "))
	}
	return found
}

func (p page) code() []string {
	found := p.spans()
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(p.text, -1) {
		found = append(found, strings.Split(block[1], "\n")...)
	}
	return found
}

func TestEveryLinkLeadsToAFileAndAHeading(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, match := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(p.text, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := p.path
			if target != "" {
				file = path.Join(path.Dir(p.path), target)
			}
			require.True(t, exists(file), "%s links to %s", p.path, match[1])
			if anchor != "" {
				require.Contains(t, anchors(t, file), anchor, "%s links to %s", p.path, match[1])
			}
		}
	}
}

// anchors are what headings are called in links.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	var list []string
	for _, match := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(match[1]), "")
		list = append(list, strings.ReplaceAll(name, " ", "-"))
	}
	return list
}

func TestEveryPathIsThere(t *testing.T) {
	t.Parallel()
	looksLikePath := regexp.MustCompile(`^(worker|coordination|cmd|test|docs|infra|modules|environments)(/[\w.*-]+)*/?$`)
	for _, name := range []string{"README.md", "docs/architecture.md"} {
		count := 0
		for _, span := range read(t, name).spans() {
			if looksLikePath.MatchString(span) {
				count++
				require.True(t, exists(span), "%s names %s", name, span)
			}
		}
		require.Positive(t, count, name)
	}
}

func TestTheTreeInTheReadmeIsTheTree(t *testing.T) {
	t.Parallel()
	text := read(t, "README.md").text
	_, text, _ = strings.Cut(text, "## The tree")
	for _, match := range regexp.MustCompile(`(?m)^(\w+)/ `).FindAllStringSubmatch(text, -1) {
		require.True(t, exists(match[1]), match[1])
	}
}

func TestEveryMakeTargetIsThere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, p := range pages(t) {
		for _, line := range p.code() {
			for _, match := range regexp.MustCompile(`\bmake ([a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
				found[match[1]] = true
				require.Regexp(t, `(?m)^`+match[1]+`:`, string(makefile), "%s names make %s", p.path, match[1])
			}
			for _, variable := range regexp.MustCompile(`\bmake demo ([A-Z]+)=`).FindAllStringSubmatch(line, -1) {
				require.Contains(t, string(makefile), "$("+variable[1]+")", "%s names %s", p.path, line)
			}
		}
	}
	require.True(t, found["demo"] && found["test"])
}

// Every command line is parsed, with --help so that nothing runs.
func TestEveryCommandParses(t *testing.T) {
	t.Parallel()
	start := regexp.MustCompile(`(?:^|; |&& )(?:kesita|(?:go run )?\./cmd/kesita|go run \./cmd/kesita) (\w.*)$`)
	count := 0
	for _, p := range pages(t) {
		for _, line := range p.code() {
			match := start.FindStringSubmatch(strings.TrimSpace(line))
			if match == nil || strings.HasPrefix(match[1], "COMMAND") { // it stands for any
				continue
			}
			count++
			args, _, _ := strings.Cut(match[1], " #")
			var said bytes.Buffer
			words := append(strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(args)), "--help")
			code := command.Main(t.Context(), words, nil, strings.NewReader(""), io.Discard, &said)
			require.Equal(t, boot.ExitClean, code, "%s: %s: %s", p.path, line, &said)
		}
	}
	require.Positive(t, count)
}

// Functions of SQL are written name(), those of Go package.Name or Type.Name.
func TestEveryFunctionIsThere(t *testing.T) {
	t.Parallel()
	sql, code := sources(t, ".sql"), sources(t, ".go")
	inSQL := regexp.MustCompile(`^(?:workflow_coordination\.|select workflow_coordination\.)?([a-z_]+)\(.*\)$`)
	inGo := regexp.MustCompile(`^(\w+)\.([A-Z]\w+)(?:\(.*\))?$`)
	counts := [2]int{}
	for _, span := range read(t, "docs/architecture.md").spans() {
		if match := inSQL.FindStringSubmatch(span); match != nil {
			counts[0]++
			require.Contains(t, sql, "function workflow_coordination."+match[1]+"(", span)
		}
		if match := inGo.FindStringSubmatch(span); match != nil {
			counts[1]++
			require.Regexp(t, `(?m)^(package|type) `+match[1]+`\b`, code, span)
			require.Regexp(t, `(?m)^(func (\([^)]*\) )?|type |\t)`+match[2]+`\b`, code, span)
		}
	}
	require.Greater(t, counts[0], 5)
	require.Greater(t, counts[1], 5)
}

// sources is the text of all files with this extension, tests left out.
func sources(t *testing.T, extension string) string {
	t.Helper()
	var text strings.Builder
	for _, folder := range []string{"coordination", "worker"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(name string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != extension || strings.HasSuffix(name, "_test.go") {
				return err
			}
			content, err := os.ReadFile(name)
			text.Write(content)
			return err
		}))
	}
	return text.String()
}

func TestEveryDurationIsTheOneInProduction(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) (s|min) \\|").FindAllStringSubmatch(read(t, "docs/architecture.md").text, -1)
	require.NotEmpty(t, rows)
	production := reflect.ValueOf(timing.Production())
	for _, row := range rows {
		field := production.FieldByName(row[1])
		require.True(t, field.IsValid(), row[1])
		want, err := time.ParseDuration(row[2] + strings.TrimSuffix(row[3], "in"))
		require.NoError(t, err)
		require.Equal(t, want, field.Interface(), row[1])
	}
	readme := strings.Join(strings.Fields(read(t, "README.md").text), " ")
	for text, value := range map[string]time.Duration{
		"renewed every %g s": timing.Production().Renew, "valid for %g s": timing.Production().Lease,
		"expired peers every %g s": timing.Production().Scan, "private probe for %g s": timing.Production().Watchdog,
		"uses the %g s lease": timing.Production().Lease,
	} {
		require.Contains(t, readme, fmt.Sprintf(text, value.Seconds()))
	}
}
