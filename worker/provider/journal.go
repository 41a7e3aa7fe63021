package provider

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Events of the journal.
const (
	eventExecuted = "executed"
	eventReplayed = "replayed"
)

// JournalEntry is one line of the journal: what happened to a key, never the
// text or the summary.
type JournalEntry struct {
	Key       string `json:"key"`
	Event     string `json:"event"` // executed or replayed
	ReceiptID string `json:"receipt_id"`
}

// JournalCount tells how often one key was executed and replayed, over all
// provider processes that wrote to the journal.
type JournalCount struct {
	Executed int
	Replayed int
}

// journal appends one line an event, each with one write, so that lines of a
// killed provider are whole or missing and several processes may share a file
// opened for appending.
type journal struct {
	mu  sync.Mutex // guards out
	out io.Writer  // nil: no journal
}

func (j *journal) append(entry JournalEntry) error {
	if j.out == nil {
		return nil
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write journal entry: %w", err)
	}
	return nil
}

// CountJournal reads a journal and counts its events by key. A last line that
// was cut off is an error: the file is then not one that the provider wrote.
func CountJournal(source io.Reader) (map[string]JournalCount, error) {
	counts := make(map[string]JournalCount)
	decoder := json.NewDecoder(bufio.NewReader(source))
	for {
		var entry JournalEntry
		if err := decoder.Decode(&entry); errors.Is(err, io.EOF) {
			return counts, nil
		} else if err != nil {
			return nil, fmt.Errorf("read provider journal: %w", err)
		}
		count := counts[entry.Key]
		switch entry.Event {
		case eventExecuted:
			count.Executed++
		case eventReplayed:
			count.Replayed++
		default:
			return nil, fmt.Errorf("read provider journal: unknown event %q", entry.Event)
		}
		counts[entry.Key] = count
	}
}
