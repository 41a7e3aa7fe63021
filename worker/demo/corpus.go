package demo

import (
	"cmp"
	"context"
	"errors"
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

// find searches for words that the documents are about; the first query that finds something is the search.
func (r *run) find(ctx context.Context) (search evidence.Search, err error) {
	for _, query := range r.queries() {
		search = evidence.Search{Query: query}
		hits, err := index.Search(ctx, r.service("corpus").database.reader, query, searched)
		if err != nil && !errors.Is(err, index.ErrNoWords) {
			return search, err
		}
		seen := map[string]bool{}
		for _, hit := range hits {
			if !seen[hit.URI] && len(seen) < mostHits {
				seen[hit.URI] = true
				search.Hits = append(search.Hits, evidence.Hit{Document: r.nameOf(hit.URI), Title: hit.Title, Snippet: hit.Snippet})
			}
		}
		if len(search.Hits) > 0 {
			break
		}
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

// queries are what may be searched for. For documents that nobody knows they are made of the words that the first of
// them uses most, the long ones first: those mean something.
func (r *run) queries() []string {
	if r.options.Docs == "" {
		return []string{`"blue carbuncle" or prism or "government of the people"`}
	}
	i := slices.IndexFunc(r.documents, func(d document) bool { return d.text != "" })
	words := strings.FieldsFunc(strings.ToLower(r.documents[i].text), notLetter)
	var queries []string
	for _, shortest := range []int{7, 4, 1} {
		if frequent := mostFrequent(words, shortest); len(frequent) > 0 {
			queries = append(queries, strings.Join(frequent, " or "))
		}
	}
	return queries
}

// mostFrequent are the two most frequent words of at least so many letters.
func mostFrequent(words []string, shortest int) []string {
	const most = 2
	counts := map[string]int{}
	for _, word := range words {
		if utf8.RuneCountInString(word) >= shortest {
			counts[word]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return frequent[:min(most, len(frequent))]
}

// corpusCommands are what a user may try on the corpus.
func (r *run) corpusCommands(document, query string) [][2]string {
	return [][2]string{
		{"index a folder or a file", "kesita corpus add --wait " + document},
		{"search", "kesita corpus search " + quoted(query)},
	}
}
