package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/worker/corpus/split"
)

// batchBytes is how much text one transaction writes at most, give or take one passage. To make and index the search
// words of 64 MiB takes some 20 s (measured, PostgreSQL 15), of 256 KiB a tenth of a second: far from the bound of a
// guarded transaction, also under the shortest TIMING and on a busy server.
const batchBytes = 256 << 10

// Document is what is published.
type Document struct {
	// Ordinal is its place in the job's plan.
	Ordinal int
	// URI is its identity; at most 2000 bytes.
	URI string
	// Source is the canonical name of the source it was found in; at most 2000 bytes.
	Source string
	Title  string
	// ReadAt is the database's time from before it was read.
	ReadAt time.Time
	// Passages is not empty.
	Passages []split.Passage
}

// Publication is what Publish did.
type Publication struct {
	// Changed is false when the published text was this one already, or a younger reading of the document.
	Changed bool `json:"changed"`
	// Passages and Hash are those of the document that is published now.
	Passages int    `json:"passages"`
	Hash     []byte `json:"hash"`
}

// Publish replaces the published version of a document, in the one transaction that also writes its last passages and
// notes the item as finished. It may be called again after any failure. Errors: ErrSuperseded.
func Publish(ctx context.Context, db Database, fence Fence, d Document) (Publication, error) {
	p := publication{fence: fence, document: d, hash: hash(d)}
	for begin := 0; ; {
		end := batchEnd(d.Passages, begin)
		last := end == len(d.Passages)
		err := held(ctx, db, fence, "publish document", func(tx pgx.Tx) error { return p.batch(ctx, tx, begin, end) })
		if err != nil || last || p.settled {
			return p.done, err
		}
		begin = end
	}
}

// publication is a document on its way.
type publication struct {
	fence    Fence
	document Document
	hash     []byte
	draft    int64
	settled  bool
	done     Publication
}

// version is the published version of a URI; its zero value when there is none.
type version struct {
	id       int64
	revision int
	hash     []byte
	passages int
	jobID    string
	readAt   time.Time
}

// batch writes some passages of the draft. The first batch begins the draft, or finds that none is needed; the last
// one publishes it.
func (p *publication) batch(ctx context.Context, tx pgx.Tx, begin, end int) error {
	d := p.document
	if begin == 0 {
		if err := p.begin(ctx, tx); err != nil || p.settled {
			return err
		}
	}
	sections, headings, bodies := make([]string, 0, end-begin), make([]string, 0, end-begin), make([]string, 0, end-begin)
	for i, passage := range d.Passages[begin:end] {
		heading := passage.Section
		if begin+i == 0 && heading != d.Title {
			heading = d.Title + "\n" + heading
		}
		sections, headings, bodies = append(sections, passage.Section), append(headings, heading), append(bodies, passage.Body)
	}
	if _, err := tx.Exec(ctx, passageInsertSQL, p.draft, begin, sections, headings, bodies); err != nil {
		return err
	}
	if end < len(d.Passages) {
		return nil
	}
	return p.publish(ctx, tx)
}

func (p *publication) begin(ctx context.Context, tx pgx.Tx) error {
	d := p.document
	if _, err := tx.Exec(ctx, documentDiscardSQL, p.fence.JobID, d.Ordinal); err != nil {
		return err
	}
	now, err := p.current(ctx, tx)
	if err != nil {
		return err
	}
	if bytes.Equal(now.hash, p.hash) {
		return p.confirm(ctx, tx, now)
	}
	return tx.QueryRow(ctx, documentDraftSQL, d.URI, d.Source, d.Title, p.hash, p.fence.JobID, d.Ordinal, p.fence.Attempt, d.ReadAt).Scan(&p.draft)
}

// current returns the published version and keeps it from changing until the transaction ends.
func (p *publication) current(ctx context.Context, tx pgx.Tx) (version, error) {
	var v version
	if _, err := tx.Exec(ctx, documentLockSQL, p.document.URI); err != nil {
		return v, err
	}
	err := tx.QueryRow(ctx, documentCurrentSQL, p.document.URI).Scan(&v.id, &v.revision, &v.hash, &v.passages, &v.jobID, &v.readAt)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return v, err
}

// publish makes the complete draft the published version, unless a younger reading came first while it was written.
func (p *publication) publish(ctx context.Context, tx pgx.Tx) error {
	now, err := p.current(ctx, tx)
	if err != nil {
		return err
	}
	if now.readAt.After(p.document.ReadAt) {
		if _, err := tx.Exec(ctx, documentDeleteSQL, p.draft); err != nil {
			return err
		}
		return p.confirm(ctx, tx, now)
	}
	if _, err := tx.Exec(ctx, documentDeleteSQL, now.id); err != nil {
		return err
	}
	count := len(p.document.Passages)
	if _, err := tx.Exec(ctx, documentPublishSQL, p.draft, now.revision+1, count); err != nil {
		return err
	}
	p.done = Publication{Changed: true, Passages: count, Hash: p.hash}
	return p.finish(ctx, tx, "indexed")
}

// confirm leaves the published version. A version that this very job published counts as indexed: the step that did
// it is running again because its checkpoint was lost.
func (p *publication) confirm(ctx context.Context, tx pgx.Tx, now version) error {
	d, state := p.document, "unchanged"
	if now.jobID == p.fence.JobID {
		state = "indexed"
	}
	if !now.readAt.After(d.ReadAt) {
		if _, err := tx.Exec(ctx, documentConfirmSQL, now.id, d.Source, p.fence.JobID, d.Ordinal, p.fence.Attempt, d.ReadAt); err != nil {
			return err
		}
	}
	p.settled, p.done = true, Publication{Changed: state == "indexed", Passages: now.passages, Hash: now.hash}
	return p.finish(ctx, tx, state)
}

func (p *publication) finish(ctx context.Context, tx pgx.Tx, state string) error {
	_, err := tx.Exec(ctx, itemFinishSQL, p.fence.JobID, p.document.Ordinal, state, nil, nil, p.done.Passages)
	return err
}

// hash is over everything that a search can see of a document.
func hash(d Document) []byte {
	digest := sha256.New()
	write := func(text string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		digest.Write(length[:])
		digest.Write([]byte(text))
	}
	write(d.Title)
	for _, passage := range d.Passages {
		write(passage.Section)
		write(passage.Body)
	}
	return digest.Sum(nil)
}

// batchEnd is the end of the batch that begins at a passage.
func batchEnd(passages []split.Passage, begin int) int {
	size := 0
	for i := begin; i < len(passages); i++ {
		size += len(passages[i].Body) + len(passages[i].Section) + utf8.UTFMax
		if size >= batchBytes {
			return i + 1
		}
	}
	return len(passages)
}
