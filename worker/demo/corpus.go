package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/corpus/index"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/demo/evidence"
)

// submitJobs adds one job for each document, with the address that the web server has it at: also for those that
// cannot be read, because the corpus has to answer them.
func submitJobs(ctx context.Context, r *run, s *service) error {
	client, err := submit.Open(ctx, s.database.url(s.database.logins.API), corpus.Application, corpus.Version)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // what was submitted is committed
	for _, d := range r.documents {
		submitted, err := corpus.Submit(ctx, s.database.api, client, corpus.Request{Source: r.web.address(d.Document)})
		if err != nil {
			return fmt.Errorf("submit %s: %w", d.Name, err)
		}
		s.evidence.Items = append(s.evidence.Items, evidence.Item{
			ID: submitted.JobID, Document: d.Name, WorkflowID: submitted.WorkflowID,
		})
	}
	return nil
}

// readJobs brings the jobs up to date.
func readJobs(ctx context.Context, s *service) error {
	rows, err := evidence.Jobs(ctx, s.database.reader)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Refused = slices.Contains(ownFaults(), refusal.Code(rows[i].Failure))
	}
	s.evidence.Apply(rows)
	return nil
}

// ownFaults are the reasons that lie in a document itself.
func ownFaults() []refusal.Code {
	return []refusal.Code{
		refusal.Missing, refusal.NameTooLong, refusal.TooLarge, refusal.Unreadable, refusal.Binary, refusal.Unsupported, refusal.NoText,
	}
}

// mostHits bounds what is shown, one passage of a document; searched is what is looked at for that.
const (
	mostHits = 3
	searched = 30
)

// find searches for words that the documents are about.
func (r *run) find(ctx context.Context) (evidence.Search, error) {
	search := evidence.Search{Query: r.query()}
	hits, err := index.Search(ctx, r.service("corpus").database.reader, search.Query, searched)
	if err != nil {
		return search, err
	}
	seen := map[string]bool{}
	for _, hit := range hits {
		if seen[hit.URI] || len(seen) == mostHits {
			continue
		}
		seen[hit.URI] = true
		search.Hits = append(search.Hits, evidence.Hit{Document: r.nameOf(hit.URI), Title: hit.Title, Snippet: hit.Snippet})
	}
	return search, nil
}

// nameOf is the document that is served at an address.
func (r *run) nameOf(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return path.Base(address)
	}
	return strings.TrimPrefix(at.Path, "/")
}

// query is made of the words that a document uses most, of those that are long enough to mean something.
func (r *run) query() string {
	if r.options.Docs == "" {
		return `"blue carbuncle" or prism or "government of the people"`
	}
	const long, words = 7, 2
	counts := map[string]int{}
	for _, d := range r.documents {
		for _, word := range strings.FieldsFunc(strings.ToLower(d.text), notLetter) {
			if utf8.RuneCountInString(word) >= long {
				counts[word]++
			}
		}
		if len(counts) > 0 {
			break
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return strings.Join(frequent[:min(words, len(frequent))], " or ")
}

// corpusCommands are what a user may try on the corpus.
func (r *run) corpusCommands(document string) [][2]string {
	return [][2]string{
		{"index a folder or a file", "kesita corpus add --wait " + document},
		{"search", "kesita corpus search " + quoted(r.query())},
	}
}
