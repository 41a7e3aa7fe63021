package corpus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/source"
	"github.com/kesita/platform/worker/corpus/split"
)

// IndexConfig is what the workflow works with.
type IndexConfig struct {
	// Database is the worker's guarded pool.
	Database index.Database
	Sources  *source.Opener
	// PassageSize is the longest passage in characters. 0 means split.DefaultSize.
	PassageSize int
	// Tries is how often a source is read that is disturbed; at least once.
	Tries int
	// FirstPause and LongestPause bound the pauses between the tries; each is twice the one before.
	FirstPause, LongestPause time.Duration
}

// RegisterIndex makes corpus.index known to a runtime that is not launched yet.
func RegisterIndex(rt workflow.Registrar, config IndexConfig) {
	i := indexer{config}
	workflow.Register(rt, Workflow, i.run)
}

// SettleExhausted fails the job of a workflow that lost its last allowed worker, without executing anything (P3).
// Workflows of other names have nothing to settle here. It may be called again.
func SettleExhausted(db index.Database) func(ctx context.Context, workflowID, name string) error {
	return func(ctx context.Context, workflowID, name string) error {
		if name != Workflow {
			return nil
		}
		job, ok := strings.CutPrefix(workflowID, workflowPrefix)
		if !ok {
			return fmt.Errorf("workflow id %s names no job", workflowID)
		}
		return index.Abandon(ctx, db, job, refusal.Exhausted)
	}
}

type indexer struct{ IndexConfig }

// Outcome is the workflow's result. State is empty when there was nothing to do for it: the job is finished, unknown, or a
// later attempt's.
type Outcome struct {
	State    index.State  `json:"state,omitempty"`
	Failure  refusal.Code `json:"failure,omitempty"`
	Items    int          `json:"items,omitempty"`
	Refused  int          `json:"refused,omitempty"`
	Passages int64        `json:"passages,omitempty"`
}

// failure is why the job as a whole cannot be done. Its zero value: it can. Detail is for people, and never
// from inside a document.
type failure struct {
	Code   refusal.Code `json:"code,omitempty"`
	Detail string       `json:"detail,omitempty"`
}

// errNothingToDo: the job needs nothing from this workflow any more.
var errNothingToDo = errors.New("nothing to do")

// run is the workflow. It must be deterministic: it decides by results of steps only.
func (i indexer) run(ctx workflow.Context, in Input) (Outcome, error) {
	first, err := workflow.RunStep(ctx, "begin", func(ctx context.Context) (begun, error) { return i.begin(ctx, in) })
	if err != nil || first.Finished {
		return Outcome{}, err
	}
	failed, err := i.work(ctx, first.Fence, in)
	if errors.Is(err, errNothingToDo) {
		return Outcome{}, nil
	}
	if ctx.Err() != nil {
		return Outcome{}, err // this process stops; a peer goes on
	}
	if err != nil {
		failed = failure{Code: codeOf(err)}
	}
	return workflow.RunStep(ctx, "settle", func(ctx context.Context) (Outcome, error) {
		return i.settle(ctx, first.Fence, failed)
	}, workflow.Settle())
}

// work does everything between begin and settle.
func (i indexer) work(ctx workflow.Context, fence index.Fence, in Input) (failure, error) {
	found, err := workflow.RunStep(ctx, "list", func(ctx context.Context) (listed, error) { return i.list(ctx, fence, in.Source) })
	switch {
	case err != nil || found.Failure.Code != "":
		return found.Failure, err
	case found.Superseded:
		return failure{}, errNothingToDo
	}
	for ordinal := range found.Items {
		read, err := workflow.RunStep(ctx, "document", func(ctx context.Context) (indexed, error) {
			return i.document(ctx, fence, found.Source, ordinal)
		})
		if err != nil && ctx.Err() == nil {
			read, err = workflow.RunStep(ctx, "refuse", func(ctx context.Context) (indexed, error) {
				return i.refuse(ctx, fence, ordinal, codeOf(err), "")
			})
		}
		switch {
		case err != nil:
			return failure{}, err
		case read.Superseded:
			return failure{}, errNothingToDo
		}
	}
	_, err = workflow.RunStep(ctx, "sweep", func(ctx context.Context) (bool, error) { return i.sweep(ctx, fence, found.Source) })
	if ctx.Err() != nil {
		return failure{}, err
	}
	return failure{}, nil // what is left behind goes with the next job of this source
}

// codeOf is the reason behind a step's durable error, which has no chain any more.
func codeOf(err error) refusal.Code {
	if errors.Is(err, workflow.ErrStepBudget) {
		return refusal.OverBudget
	}
	return refusal.Internal
}

// begun is the checkpoint of the first step.
type begun struct {
	Fence    index.Fence `json:"fence"`
	Finished bool        `json:"finished,omitempty"`
}

func (i indexer) begin(ctx context.Context, in Input) (begun, error) {
	fence, err := index.Begin(ctx, i.Database, in.JobID)
	if errors.Is(err, index.ErrJobFinished) || errors.Is(err, index.ErrJobUnknown) {
		return begun{Finished: true}, nil
	}
	return begun{Fence: fence}, err
}

// listed is the checkpoint of the listing. The URIs are in the tables.
type listed struct {
	Source     string  `json:"source,omitempty"`
	Items      int     `json:"items,omitempty"`
	Superseded bool    `json:"superseded,omitempty"`
	Failure    failure `json:"failure,omitzero"`
}

func (i indexer) list(ctx context.Context, fence index.Fence, name string) (listed, error) {
	found, err := i.find(ctx, name)
	if code, refused := refusal.Of(err); refused {
		return listed{Failure: failure{Code: code, Detail: err.Error()}}, nil
	}
	if err != nil {
		return listed{}, err
	}
	canonical, err := i.Sources.Canonical(name)
	if err != nil {
		return listed{}, err
	}
	err = index.Plan(ctx, i.Database, fence, found)
	if errors.Is(err, index.ErrSuperseded) {
		return listed{Superseded: true}, nil
	}
	return listed{Source: canonical, Items: len(found)}, err
}

func (i indexer) find(ctx context.Context, name string) ([]string, error) {
	items, err := patiently(ctx, i.IndexConfig, func() ([]source.Item, error) { return i.Sources.List(ctx, name) })
	uris := make([]string, 0, len(items))
	for _, item := range items {
		uris = append(uris, item.URI)
	}
	return uris, err
}

// indexed is the checkpoint of one document: never its text.
type indexed struct {
	index.Publication
	Failure    refusal.Code `json:"failure,omitempty"`
	Superseded bool         `json:"superseded,omitempty"`
}

// document reads, cuts and publishes one document, or refuses it.
func (i indexer) document(ctx context.Context, fence index.Fence, from string, ordinal int) (indexed, error) {
	uri, now, err := index.Item(ctx, i.Database, fence, ordinal)
	if errors.Is(err, index.ErrSuperseded) {
		return indexed{Superseded: true}, nil
	}
	if err != nil {
		return indexed{}, err
	}
	text, err := patiently(ctx, i.IndexConfig, func() (extract.Document, error) { return i.read(ctx, uri) })
	if code, refused := refusal.Of(err); refused {
		return i.refuse(ctx, fence, ordinal, code, err.Error())
	}
	if err != nil {
		return indexed{}, err
	}
	published, err := index.Publish(ctx, i.Database, fence, index.Document{
		Ordinal: ordinal, URI: uri, Source: from, Title: text.Title, ReadAt: now, Passages: split.Document(text, i.PassageSize),
	})
	if errors.Is(err, index.ErrSuperseded) {
		return indexed{Superseded: true}, nil
	}
	return indexed{Publication: published}, err
}

func (i indexer) read(ctx context.Context, uri string) (extract.Document, error) {
	stream, err := i.Sources.Open(ctx, uri)
	if err != nil {
		return extract.Document{}, err
	}
	defer func() { _ = stream.Close() }() // it was only read
	return extract.Extract(ctx, stream, extract.Hint{Name: stream.Name, MediaType: stream.MediaType})
}

func (i indexer) refuse(ctx context.Context, fence index.Fence, ordinal int, code refusal.Code, detail string) (indexed, error) {
	err := index.Refuse(ctx, i.Database, fence, ordinal, code, detail)
	if errors.Is(err, index.ErrSuperseded) {
		return indexed{Superseded: true}, nil
	}
	return indexed{Failure: code}, err
}

// sweep reports whether the attempt was still the current one.
func (i indexer) sweep(ctx context.Context, fence index.Fence, from string) (bool, error) {
	for {
		more, err := index.Sweep(ctx, i.Database, fence, from)
		if errors.Is(err, index.ErrSuperseded) {
			return false, nil
		}
		if err != nil || !more {
			return err == nil, err
		}
	}
}

func (i indexer) settle(ctx context.Context, fence index.Fence, failed failure) (Outcome, error) {
	job, err := index.Settle(ctx, i.Database, fence, failed.Code, failed.Detail)
	if errors.Is(err, index.ErrSuperseded) || errors.Is(err, index.ErrJobUnknown) {
		return Outcome{}, nil
	}
	return Outcome{State: job.State, Failure: job.FailureCode, Items: job.Items, Refused: job.Refused, Passages: job.Passages}, err
}

// patiently tries again after a disturbance that can pass, a bounded number of times.
func patiently[R any](ctx context.Context, config IndexConfig, read func() (R, error)) (R, error) {
	for try, wait := 1, config.FirstPause; ; try, wait = try+1, min(2*wait, config.LongestPause) {
		out, err := read()
		if err == nil || !refusal.Heals(err) || try >= config.Tries {
			return out, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return out, ctx.Err()
		case <-timer.C:
		}
	}
}
