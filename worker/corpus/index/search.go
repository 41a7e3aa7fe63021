package index

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Bounds of a search.
const (
	maxQuery = 1000 // characters
	// MaxHits is the largest limit; more is cut to it.
	MaxHits = 100
)

// ErrNoWords means that nothing in the query can be searched for; it is empty, or all of its words are too common.
var ErrNoWords = errors.New("no word in the query can be searched for")

// Hit is one passage that was found.
type Hit struct {
	Title   string `json:"title"`
	URI     string `json:"uri"`
	Section string `json:"section,omitempty"`
	// Ordinal is the passage's place in its document, from 0.
	Ordinal int `json:"passage"`
	// Rank is from 0 to 1; it orders the hits of one search.
	Rank float32 `json:"rank"`
	// Snippet is one line around the words that were found, which stand in « ».
	Snippet string `json:"snippet"`
}

// Search returns at most limit passages, the best first; a limit below 1 is 1. The query is written as for a web search: words,
// "a phrase", or, -without. Errors: ErrNoWords.
func Search(ctx context.Context, db Database, query string, limit int) ([]Hit, error) {
	query = clean(query, maxQuery)
	var searchable bool
	if err := db.QueryRow(ctx, askedSQL, query).Scan(&searchable); err != nil {
		return nil, wrap("search", err)
	}
	if !searchable {
		return nil, fmt.Errorf("search: %w", ErrNoWords)
	}
	rows, err := db.Query(ctx, searchSQL, query, min(max(limit, 1), MaxHits))
	if err != nil {
		return nil, wrap("search", err)
	}
	hits, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Hit])
	for i := range hits {
		hits[i].Snippet = strings.Join(strings.Fields(hits[i].Snippet), " ")
	}
	return hits, wrap("search", err)
}
