package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/demo/timeline"
)

const (
	patience = 4 * time.Minute
	poll     = 20 * time.Millisecond
)

// demonstration is one run of the demo as a process of its own, with a temporary folder of its own.
type demonstration struct {
	command        *exec.Cmd
	stdout, stderr recorder
	temporary      string
}

// recorder is what a process wrote so far.
type recorder struct {
	mu   sync.Mutex
	text []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	return len(p), nil
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// stage is taken by one run at a time: several at once would be as slow as none, and a worker that gets no processor
// for seconds ends itself.
var stage sync.Mutex

// perform begins a run that has the stage.
func perform(t *testing.T, environ ...string) *demonstration {
	t.Helper()
	stage.Lock()
	t.Cleanup(stage.Unlock)
	return begin(t, environ...)
}

func begin(t *testing.T, environ ...string) *demonstration {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	d := &demonstration{}
	// Not t.TempDir: the account that runs PostgreSQL for root must reach it.
	d.temporary, err = os.MkdirTemp("", "demo-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(d.temporary, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(d.temporary) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	d.command = exec.CommandContext(ctx, self, "demo")
	d.command.Env = append(inherited(os.Environ()), append(environ, "TMPDIR="+d.temporary)...)
	d.command.Stdout, d.command.Stderr = &d.stdout, &d.stderr
	require.NoError(t, d.command.Start())
	return d
}

// end waits for the exit status and makes sure that nothing is left.
func (d *demonstration) end(t *testing.T) int {
	t.Helper()
	err := d.command.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(t, err)
	}
	for _, match := range regexp.MustCompile(`pid (\d+)`).FindAllStringSubmatch(d.stderr.String()+d.stdout.String(), -1) {
		pid, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d is left", pid)
	}
	return d.command.ProcessState.ExitCode()
}

func (d *demonstration) left(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(d.temporary, "*"))
	require.NoError(t, err)
	return left
}

// T6, F7: the main job on real documents survives the death of a replica of each service, and the exit status says so.
func TestTheDefaultDemoEndsWithEveryRuleHeld(t *testing.T) {
	t.Parallel()
	d := perform(t, "JSON=1")
	code := d.end(t)
	require.Equal(t, boot.ExitClean, code, "%s\n%s", &d.stderr, &d.stdout)
	require.Empty(t, d.left(t))

	var made report
	require.NoError(t, json.Unmarshal([]byte(d.stdout.String()), &made))
	require.True(t, made.Held)
	require.Len(t, made.Replicas, 2*len(services()))
	killed := slices.DeleteFunc(slices.Clone(made.Replicas), func(r replicaReport) bool { return !r.Killed })
	require.Len(t, killed, len(services()))
	require.NotEmpty(t, made.Search.Hits)
	require.NotEmpty(t, made.Summary.Text)
	require.Equal(t, 2, made.Summary.Revision)
	told := map[string]bool{}
	for _, story := range made.Stories {
		told[story.Service] = true
		var last timeline.Event
		for _, kind := range []timeline.Kind{
			timeline.Submitted, timeline.Claimed, timeline.Killed, timeline.Expired, timeline.Revoked, timeline.Reenqueued,
			timeline.Resumed, timeline.Finished,
		} {
			event, known := story.Find(kind)
			require.True(t, known, "%s of %s", kind, story.Document)
			require.False(t, event.At.Before(last.At.Truncate(time.Millisecond)), "%s before %s", kind, last.Kind)
			last = event
		}
	}
	require.Len(t, told, len(services()))
	for _, document := range made.Documents {
		for _, s := range services() {
			require.Equal(t, "done", document.Outcomes[s.name].State, "%s in %s", document.Name, s.name)
		}
	}
}

// A document that cannot be read is listed with its reason, by each service; the others are worked on.
func TestDocumentsThatCannotBeReadAreListedAndTheRestIsDone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const good = "good & größer.md"
	require.NoError(t, os.WriteFile(filepath.Join(folder, good), []byte("# Light\n\nThe prism parts the light. The light is white."), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "noise.bin"), bytes.Repeat([]byte{0, 0xff, 7}, 1000), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "empty.txt"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "huge.txt"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(folder, "huge.txt"), 200<<20))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe.txt"), 0o600))

	d := perform(t, "JSON=1", "DOCS="+folder)
	require.Equal(t, boot.ExitClean, d.end(t), "%s\n%s", &d.stderr, &d.stdout)
	var made report
	require.NoError(t, json.Unmarshal([]byte(d.stdout.String()), &made))
	corpus, product := map[string]string{}, map[string]string{}
	for _, document := range made.Documents {
		corpus[document.Name] = document.Outcomes["corpus"].Failure
		product[document.Name] = document.Fault
	}
	require.Equal(t, map[string]string{
		good: "", "noise.bin": "document_is_binary", "empty.txt": "document_has_no_text", "huge.txt": "document_too_large",
		"pipe.txt": "document_unreadable",
	}, corpus)
	for name, fault := range product {
		require.Equal(t, name == good, fault == "", "%s: %s", name, fault)
	}
	require.Equal(t, good, made.Search.Hits[0].Document)
}

func TestALostTaskBreaksTheDemo(t *testing.T) {
	t.Parallel()
	d := perform(t, "LOSE=1")
	require.Equal(t, ExitBroken, d.end(t), "%s\n%s", &d.stderr, &d.stdout)
	require.Contains(t, d.stdout.String(), "broken: every job is there once and has an end")
	require.Contains(t, d.stdout.String(), "Not every rule held.")
	logs := regexp.MustCompile(`logs of every process: (\S+)`).FindStringSubmatch(d.stdout.String())
	require.NotNil(t, logs)
	for _, name := range []string{"product-1", "product-2", "provider", "postgresql"} {
		require.FileExists(t, filepath.Join(logs[1], name+".log"))
	}
	require.Equal(t, []string{filepath.Dir(logs[1])}, d.left(t), "only the logs stay")
}

// loseATask puts a task back behind the workflow's back, as the owner, who is no worker.
func loseATask(r *run) error {
	ctx := context.Background()
	database := r.services[0].database
	conn, err := pgx.Connect(ctx, database.url(database.logins.Owner))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	done, err := conn.Exec(ctx, `update product.task set state = 'queued', finished_at = null
		where task_id = (select task_id from product.task order by task_id limit 1)`)
	if err == nil && done.RowsAffected() != 1 {
		return fmt.Errorf("lost %d tasks", done.RowsAffected())
	}
	return err
}

// Whenever it is told to end, it leaves nothing: no process, no folder, also when it is told twice.
func TestAnInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	for stage, mark := range map[string]string{
		"WhileTheDatabaseIsMade": "Database", "WhileWorkersStart": "Workers", "WhileAPeerWaits": "Takeover",
	} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			d := perform(t)
			require.Eventually(t, func() bool { return strings.Contains(d.stdout.String(), mark) }, patience, poll)
			require.NoError(t, d.command.Process.Signal(os.Interrupt))
			_ = d.command.Process.Signal(os.Interrupt) // it may be gone already
			require.Equal(t, ExitInterrupted, d.end(t), "%s", &d.stdout)
			require.Empty(t, d.left(t))
		})
	}
}

func TestInputThatCannotBeUsedIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file.txt")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	empty := filepath.Join(folder, "empty")
	require.NoError(t, os.Mkdir(empty, 0o700))
	garbage := filepath.Join(folder, "garbage")
	require.NoError(t, os.Mkdir(garbage, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(garbage, "noise.bin"), bytes.Repeat([]byte{0, 0xff, 7}, 1000), 0o600))
	for name, test := range map[string]struct{ environ, says string }{
		"missing folder":  {"DOCS=" + filepath.Join(folder, "nowhere"), "no such file or directory"},
		"a file":          {"DOCS=" + file, "is a file"},
		"empty folder":    {"DOCS=" + empty, "has no documents"},
		"nothing to read": {"DOCS=" + garbage, "noise.bin"},
		"unknown timing":  {"TIMING=slow", "TIMING is not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := begin(t, test.environ)
			require.Equal(t, boot.ExitUsage, d.end(t))
			require.Contains(t, d.stdout.String(), test.says)
			require.NotContains(t, d.stdout.String(), "PostgreSQL")
			require.Empty(t, d.left(t))
		})
	}
}
