package corpus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/corpustest"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

// program is the real binary, built once for this test binary.
var program struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := localpgtest.Main(m)
	_ = os.RemoveAll(program.dir)
	os.Exit(code)
}

// process is one running worker.
type process struct {
	command *exec.Cmd
	output  *output
	done    chan struct{}
}

func start(t *testing.T, environ ...string) *process {
	t.Helper()
	program.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "corpus"); program.err == nil {
			build := exec.Command("go", "build", "-o", program.dir, "../../cmd/corpus")
			build.Stderr = os.Stderr
			program.err = build.Run()
		}
	})
	require.NoError(t, program.err)
	p := &process{command: exec.Command(filepath.Join(program.dir, "corpus")), output: &output{}, done: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = environ, p.output, p.output
	require.NoError(t, p.command.Start())
	go func() {
		_ = p.command.Wait() // the exit status is read from ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("corpus:\n%s", p.output)
		}
	})
	return p
}

// replica is a worker in a fifth of production's timing: short, and still wide enough for a busy machine.
func replica(t *testing.T, s corpustest.Service, more ...string) *process {
	t.Helper()
	return start(t, append([]string{"DATABASE_URL=" + s.WorkerURL, "HTTP_ADDRESS=127.0.0.1:0", "TIMING=0.2"}, more...)...)
}

// executor is the process's identity, once it has one.
func (p *process) executor() string {
	for line := range strings.Lines(p.output.String()) {
		var fields struct {
			ID string `json:"executor_id"`
		}
		if json.Unmarshal([]byte(line), &fields) == nil && fields.ID != "" {
			return fields.ID
		}
	}
	return ""
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Real processes: a SIGKILL while the second document is being read (T2, F8).
func TestTheJobOfAKilledWorkerIsDoneOnceByItsPeer(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	var reads atomic.Int32
	asked, free := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reads.Add(1) == 1 {
			close(asked)
			select {
			case <-free:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, "<title>Basalt</title><p>Columns of cooled rock.")
	}))
	t.Cleanup(server.Close)
	workers := []*process{replica(t, s), replica(t, s)}
	made := submitted(t, s, corpus.Request{Source: server.URL + "/basalt.html"})
	<-asked

	histories, err := journal.Histories(t.Context(), s, []string{made.WorkflowID})
	require.NoError(t, err)
	killed := 0
	for _, w := range workers {
		if w.executor() == histories[0].ExecutorID {
			require.NoError(t, w.command.Process.Signal(syscall.SIGKILL))
			<-w.done
			killed++
		}
	}
	require.Equal(t, 1, killed, "one of the workers owned the job")
	close(free)

	var job index.Job
	require.Eventually(t, func() bool { job = s.Job(t, made.JobID); return job.Finished() }, patience, poll)
	require.Equal(t, index.Done, job.State, "%+v", job)
	require.Equal(t, []int{1, 1, 1, 0}, []int{job.Attempt, job.Items, job.Indexed, job.Unchanged}, "begin was a checkpoint: its attempt goes on")
	require.EqualValues(t, 2, reads.Load())
	var revision, documents int
	require.NoError(t, s.QueryRow(t.Context(), `select max(revision), count(*) from corpus.document`).Scan(&revision, &documents))
	require.Equal(t, []int{1, 1}, []int{revision, documents})
	require.Equal(t, []string{"Basalt"}, titles(t, s, "columns"))
	for _, w := range workers {
		require.NotContains(t, strings.ToLower(w.output.String()), "cooled rock", "a log holds no text of a document")
	}
}

// F2: the fence also stands in front of the corpus' own tables.
func TestAWorkerLoginWithoutALeaseWritesNothing(t *testing.T) {
	t.Parallel()
	s := corpustest.Deploy(t)
	for _, statement := range []string{
		`insert into corpus.job (job_id, source) values ('x', 'y')`, `update corpus.job set attempt = attempt + 1`,
		`delete from corpus.item`, `update corpus.document set title = 'x'`, `delete from corpus.passage`,
	} {
		require.ErrorContains(t, exec1(t, s.WorkerURL, statement), "KF003", statement)
		require.NoError(t, exec1(t, s.APIURL, statement), statement)
	}
	for _, statement := range []string{`alter text search configuration corpus.prose drop mapping for word`, `create table corpus.mine (id int)`, `truncate corpus.job cascade`} {
		require.ErrorContains(t, exec1(t, s.WorkerURL, statement), "42501", statement)
	}
}

// Neither the answer of a database nor a second start is needed to learn of all faults (H6).
func TestABaseThatCannotBeIsToldBeforeTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	const dead = "DATABASE_URL=postgres://u:p@127.0.0.1:1/corpus?sslmode=disable"
	const blob = "BLOB_URL: base of sources: s3 buckets are not compiled in"
	for name, c := range map[string]struct {
		environ []string
		says    []string
	}{
		"Alone":         {[]string{dead, "BLOB_URL=s3://b"}, []string{blob}},
		"BesideAnother": {[]string{dead, "BLOB_URL=s3://b", "QUEUE_CONCURRENCY=0"}, []string{blob, "QUEUE_CONCURRENCY is out of bounds"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append(c.environ, "HTTP_ADDRESS=127.0.0.1:0")...)
			select {
			case <-p.done:
			case <-time.After(patience):
				t.Fatal("the worker waits for its database")
			}
			require.Equal(t, boot.ExitConfiguration, p.command.ProcessState.ExitCode())
			for _, fault := range c.says {
				require.Contains(t, p.output.String(), fault)
			}
			require.Equal(t, 1, strings.Count(p.output.String(), `"reason":`), "one line, and no attempt")
		})
	}
}
