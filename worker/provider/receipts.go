package provider

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/kesita/platform/worker/provider/contract"
)

// Decisions of the receipt store.
var (
	errKeyReused    = errors.New("idempotency key was used for another request")
	errReceiptsFull = errors.New("receipt store is full")
	errNotExecuted  = errors.New("request was not executed")
)

// receipts keeps one answer a key. A full store refuses new keys: dropping an
// old receipt would let its key execute twice.
type receipts struct {
	max int

	mu    sync.Mutex // guards everything below
	byKey map[string]*receipt
}

type receipt struct {
	fingerprint [sha256.Size]byte
	done        chan struct{} // closed when response or err is set
	response    contract.SummaryResponse
	err         error
	replays     int
}

func newReceipts(limit int) *receipts {
	return &receipts{max: limit, byKey: make(map[string]*receipt)}
}

// once runs execute for a new key and returns its answer; for a known key it
// waits for the stored answer. An execute that fails leaves no trace, so the key
// stays usable. It returns errKeyReused for a known key with another
// fingerprint, errReceiptsFull, the error of execute, or the error of ctx.
func (r *receipts) once(ctx context.Context, key string, fingerprint [sha256.Size]byte,
	execute func() (contract.SummaryResponse, error),
) (contract.SummaryResponse, error) {
	entry, owner, err := r.claim(key, fingerprint)
	if err != nil {
		return contract.SummaryResponse{}, err
	}
	if owner {
		r.fulfil(key, entry, execute)
		return entry.response, entry.err
	}
	select {
	case <-entry.done:
	case <-ctx.Done():
		return contract.SummaryResponse{}, context.Cause(ctx)
	}
	if entry.err != nil {
		return contract.SummaryResponse{}, entry.err
	}
	r.mu.Lock()
	entry.replays++
	r.mu.Unlock()
	response := entry.response
	response.Replayed = true
	return response, nil
}

func (r *receipts) claim(key string, fingerprint [sha256.Size]byte) (entry *receipt, owner bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if entry, known := r.byKey[key]; known {
		if entry.fingerprint != fingerprint {
			return nil, false, errKeyReused
		}
		return entry, false, nil
	}
	if len(r.byKey) >= r.max {
		return nil, false, errReceiptsFull
	}
	entry = &receipt{fingerprint: fingerprint, done: make(chan struct{})}
	r.byKey[key] = entry
	return entry, true, nil
}

// fulfil closes done on every way out, a panic included: a waiter must never
// hang on a key whose owner is gone.
func (r *receipts) fulfil(key string, entry *receipt, execute func() (contract.SummaryResponse, error)) {
	entry.err = errNotExecuted
	defer func() {
		if entry.err != nil {
			r.mu.Lock()
			delete(r.byKey, key)
			r.mu.Unlock()
		}
		close(entry.done)
	}()
	entry.response, entry.err = execute()
}

// find returns what is stored under key, without an entry still in execution.
func (r *receipts) find(key string) (contract.ReceiptResponse, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry, known := r.byKey[key]
	if !known {
		return contract.ReceiptResponse{}, false
	}
	select {
	case <-entry.done:
		return contract.ReceiptResponse{SummaryResponse: entry.response, Executions: 1, Replays: entry.replays}, true
	default:
		return contract.ReceiptResponse{}, false
	}
}

// fingerprintOf identifies what a request asks for, whatever its JSON spelling.
func fingerprintOf(request contract.SummaryRequest) [sha256.Size]byte {
	hash := sha256.New()
	var sentences [8]byte
	binary.BigEndian.PutUint64(sentences[:], uint64(request.MaxSentences))
	hash.Write(sentences[:])
	hash.Write([]byte(request.Text))
	return [sha256.Size]byte(hash.Sum(nil))
}
