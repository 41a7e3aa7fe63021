// Package contract is the HTTP contract between the product worker and a
// summary provider: paths, headers, bodies, and refusal codes. Any endpoint
// that keeps it can stand in for the provider that ships here. The package
// holds no behaviour and imports nothing of ours.
//
// The promise that matters most (F7): a provider stores its answer under the
// idempotency key. The same key with the same body is answered with the stored
// receipt, and the same key with another body is refused with 409. So a caller
// that lost an answer may ask again without a second effect.
package contract

// Paths of the service.
const (
	PathSummaries = "/v1/summaries"
	PathReceipts  = "/v1/receipts/"
	PathStats     = "/v1/stats"
	PathHealth    = "/health"
)

// Headers and the one media type of every body.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderRetryAfter     = "Retry-After"
	MediaType            = "application/json"
)

// Bounds that both sides keep.
const (
	// MaxKeyBytes bounds an idempotency key: printable ASCII without spaces.
	MaxKeyBytes = 200
	// MaxSentences bounds max_sentences.
	MaxSentences = 50
	// DefaultSentences applies when max_sentences is absent or zero.
	DefaultSentences = 3
)

// SummaryRequest asks for an extract of a text.
type SummaryRequest struct {
	Text string `json:"text"`
	// MaxSentences is 1 to MaxSentences; 0 stands for DefaultSentences.
	MaxSentences int `json:"max_sentences"`
}

// SummaryResponse is the receipt of one executed request.
type SummaryResponse struct {
	// ReceiptID is stable: every replay of a key carries the same one.
	ReceiptID string `json:"receipt_id"`
	Summary   string `json:"summary"`
	// Sentences counts the sentences in Summary.
	Sentences int    `json:"sentences"`
	Model     string `json:"model"`
	// Replayed is true when nothing was executed for this request.
	Replayed bool `json:"replayed"`
}

// ReceiptResponse tells what a provider knows about one key.
type ReceiptResponse struct {
	SummaryResponse
	Executions int `json:"executions"`
	Replays    int `json:"replays"`
}

// StatsResponse counts what one provider process did since it started.
type StatsResponse struct {
	Requests int64 `json:"requests"`
	Executed int64 `json:"executed"`
	Replayed int64 `json:"replayed"`
	// Refused counts answers with a 4xx status, Busy those of them with 429.
	Refused int64 `json:"refused"`
	Busy    int64 `json:"busy"`
	// Failed counts answers with a 5xx status and answers cut off on purpose.
	Failed int64 `json:"failed"`
}

// Refusal is the body of every answer that is not a 200.
type Refusal struct {
	Code Code `json:"code"`
}

// Code says why a request was refused. The list is closed.
type Code string

// The refusal codes with the status that carries them.
const (
	CodeKeyMissing   Code = "key_missing"       // 400
	CodeKeyMalformed Code = "key_malformed"     // 400
	CodeBodyInvalid  Code = "body_invalid"      // 400
	CodeTextEmpty    Code = "text_empty"        // 400
	CodeSentences    Code = "sentences_invalid" // 400
	CodeUnknown      Code = "receipt_unknown"   // 404
	CodeKeyReused    Code = "key_reused"        // 409
	CodeBodyTooLarge Code = "body_too_large"    // 413
	CodeMediaType    Code = "media_type"        // 415
	CodeBusy         Code = "busy"              // 429, with Retry-After
	CodeInternal     Code = "internal"          // 500
	CodeUnavailable  Code = "unavailable"       // 503, nothing was executed
)
