package provider

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/kesita/platform/worker/provider/contract"
	"github.com/kesita/platform/worker/provider/extract"
)

// Config is everything a Server needs.
type Config struct {
	Limits Limits
	Faults Faults
	// Journal receives one line for each execution and replay; nil: none.
	Journal io.Writer
	// Log receives one line for each internal fault; nil: none.
	Log *slog.Logger
}

// Limits bounds what one provider process takes on.
type Limits struct {
	// BodyBytes bounds a request body.
	BodyBytes int64
	// Concurrent bounds the summary requests in progress.
	Concurrent int
	// Receipts bounds the keys that are remembered.
	Receipts int
	// RetryAfter is what a refused caller is asked to wait; sent in whole
	// seconds, at least one.
	RetryAfter time.Duration
}

// Validate returns an error that names every limit that is not positive.
func (l Limits) Validate() error {
	var faults []error
	for name, value := range map[string]int64{
		"body-bytes": l.BodyBytes, "concurrent": int64(l.Concurrent),
		"receipts": int64(l.Receipts), "retry-after": int64(l.RetryAfter),
	} {
		if value <= 0 {
			faults = append(faults, errors.New(name+" must be positive"))
		}
	}
	return errors.Join(faults...)
}

// Server answers the provider contract. It is an http.Handler and safe for
// concurrent use.
type Server struct {
	limits   Limits
	faults   *faultPlan
	journal  *journal
	log      *slog.Logger
	receipts *receipts
	slots    chan struct{}
	mux      *http.ServeMux
	stats    stats
}

type stats struct {
	requests, executed, replayed, refused, busy, failed atomic.Int64
}

// New returns a server, or an error that names every fault of the limits and
// fault settings.
func New(config Config) (*Server, error) {
	if err := errors.Join(config.Limits.Validate(), config.Faults.Validate()); err != nil {
		return nil, err
	}
	log := config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		limits: config.Limits, faults: newFaultPlan(config.Faults), journal: &journal{out: config.Journal}, log: log,
		receipts: newReceipts(config.Limits.Receipts), slots: make(chan struct{}, config.Limits.Concurrent),
		mux: http.NewServeMux(),
	}
	s.mux.HandleFunc("POST "+contract.PathSummaries, s.summaries)
	s.mux.HandleFunc("GET "+contract.PathReceipts+"{key}", s.receipt)
	s.mux.HandleFunc("GET "+contract.PathStats, s.statistics)
	s.mux.HandleFunc("GET "+contract.PathHealth, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// summaries executes or replays one request. The order matters: what is refused
// before the receipts are asked had no effect.
func (s *Server) summaries(w http.ResponseWriter, r *http.Request) {
	s.stats.requests.Add(1)
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		s.stats.busy.Add(1)
		s.refuse(w, http.StatusTooManyRequests, contract.CodeBusy)
		return
	}
	if s.faults.fail() {
		s.refuse(w, http.StatusServiceUnavailable, contract.CodeUnavailable)
		return
	}
	key, request, fault := s.read(w, r)
	if fault != nil {
		s.refuse(w, fault.status, fault.code)
		return
	}
	response, err := s.receipts.once(r.Context(), key, fingerprintOf(request), func() (contract.SummaryResponse, error) {
		return s.execute(key, request)
	})
	if err != nil {
		s.refuseError(w, r, err)
		return
	}
	if response.Replayed {
		s.stats.replayed.Add(1)
		if err := s.journal.append(JournalEntry{Key: key, Event: eventReplayed, ReceiptID: response.ReceiptID}); err != nil {
			s.refuseError(w, r, err)
			return
		}
	}
	s.deliver(w, r, response)
}

var errTextEmpty = errors.New("text has no words")

// execute makes the extract. The journal line is part of the effect: it is
// written before any answer can be lost.
func (s *Server) execute(key string, request contract.SummaryRequest) (contract.SummaryResponse, error) {
	summary, sentences := extract.Summary(request.Text, request.MaxSentences)
	if sentences == 0 {
		return contract.SummaryResponse{}, errTextEmpty
	}
	response := contract.SummaryResponse{
		ReceiptID: uuid.NewString(), Summary: summary, Sentences: sentences, Model: extract.Model,
	}
	if err := s.journal.append(JournalEntry{Key: key, Event: eventExecuted, ReceiptID: response.ReceiptID}); err != nil {
		return contract.SummaryResponse{}, err
	}
	s.stats.executed.Add(1)
	return response, nil
}

// deliver sends the answer, after the faults had their say.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, response contract.SummaryResponse) {
	s.faults.wait(r.Context())
	if s.faults.drop() {
		s.stats.failed.Add(1)
		panic(http.ErrAbortHandler) // net/http cuts the connection and logs nothing
	}
	if s.faults.Nonsense {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, nonsenseBody)
		return
	}
	answer(w, http.StatusOK, response)
}

// fault is a request that the contract does not allow.
type fault struct {
	status int
	code   contract.Code
}

// read takes key and body from the request and checks them.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (string, contract.SummaryRequest, *fault) {
	var request contract.SummaryRequest
	key := r.Header.Get(contract.HeaderIdempotencyKey)
	if key == "" {
		return "", request, &fault{http.StatusBadRequest, contract.CodeKeyMissing}
	}
	if !validKey(key) {
		return "", request, &fault{http.StatusBadRequest, contract.CodeKeyMalformed}
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != contract.MediaType {
		return "", request, &fault{http.StatusUnsupportedMediaType, contract.CodeMediaType}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.BodyBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", request, &fault{http.StatusRequestEntityTooLarge, contract.CodeBodyTooLarge}
	}
	if err != nil || json.Unmarshal(body, &request) != nil {
		return "", request, &fault{http.StatusBadRequest, contract.CodeBodyInvalid}
	}
	if request.MaxSentences == 0 {
		request.MaxSentences = contract.DefaultSentences
	}
	if request.MaxSentences < 0 || request.MaxSentences > contract.MaxSentences {
		return "", request, &fault{http.StatusBadRequest, contract.CodeSentences}
	}
	return key, request, nil
}

func validKey(key string) bool {
	return len(key) <= contract.MaxKeyBytes &&
		!strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (s *Server) receipt(w http.ResponseWriter, r *http.Request) {
	found, ok := s.receipts.find(r.PathValue("key"))
	if !ok {
		s.refuse(w, http.StatusNotFound, contract.CodeUnknown)
		return
	}
	answer(w, http.StatusOK, found)
}

func (s *Server) statistics(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, contract.StatsResponse{
		Requests: s.stats.requests.Load(), Executed: s.stats.executed.Load(), Replayed: s.stats.replayed.Load(),
		Refused: s.stats.refused.Load(), Busy: s.stats.busy.Load(), Failed: s.stats.failed.Load(),
	})
}

// refuseError answers an error of the receipts or the journal.
func (s *Server) refuseError(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // nobody reads the answer
	case errors.Is(err, errTextEmpty):
		s.refuse(w, http.StatusBadRequest, contract.CodeTextEmpty)
	case errors.Is(err, errKeyReused):
		s.refuse(w, http.StatusConflict, contract.CodeKeyReused)
	case errors.Is(err, errReceiptsFull):
		s.refuse(w, http.StatusServiceUnavailable, contract.CodeUnavailable)
	default:
		s.log.Error("provider request", "error", err.Error())
		s.refuse(w, http.StatusInternalServerError, contract.CodeInternal)
	}
}

func (s *Server) refuse(w http.ResponseWriter, status int, code contract.Code) {
	if status < http.StatusInternalServerError {
		s.stats.refused.Add(1)
	} else {
		s.stats.failed.Add(1)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		seconds := max(1, math.Ceil(s.limits.RetryAfter.Seconds()))
		w.Header().Set(contract.HeaderRetryAfter, strconv.Itoa(int(seconds)))
	}
	answer(w, status, contract.Refusal{Code: code})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", contract.MediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a caller that is gone is no fault of ours
}
