package summarise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/kesita/platform/worker/provider/contract"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	http     *http.Client
	settings Settings
	url      string
	turns    chan struct{} // holds one element for each request that is open
}

// Request is one call.
type Request struct {
	// IdempotencyKey is the same in every attempt and after every restart.
	IdempotencyKey string
	Text           string
	// MaxSentences is 1 to contract.MaxSentences.
	MaxSentences int
	// BeforeSend runs before each attempt. It is where the caller checks its
	// lease and notes durably that a request leaves. An error ends the call and
	// is returned as it is.
	BeforeSend func(ctx context.Context) error
}

// Receipt is a provider's answer, checked: every field has content that a
// database can hold as text.
type Receipt struct {
	ID      string
	Summary string
	Model   string
	// Replayed is true when the provider had done the work for an earlier attempt.
	Replayed bool
}

// New returns a client that uses transport's connections but follows no
// redirect: a text goes to the configured address only. Validate the settings
// before.
func New(transport *http.Client, settings Settings) *Client {
	own := *transport
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Timeout = 0 // an attempt has its own, and knows that it ended for that reason
	return &Client{
		http: &own, settings: settings, url: strings.TrimSuffix(settings.BaseURL, "/") + contract.PathSummaries,
		turns: make(chan struct{}, settings.Concurrency),
	}
}

// Summarise returns the provider's receipt. Its errors are *Error, the error
// of BeforeSend, an error of the platform that the transport's lease check gave,
// or the cause of ctx's end; after all but the first a request may have been
// sent, and what BeforeSend noted is all that is known.
func (c *Client) Summarise(ctx context.Context, request Request) (Receipt, error) {
	body, err := json.Marshal(contract.SummaryRequest{Text: request.Text, MaxSentences: request.MaxSentences})
	if err != nil {
		return Receipt{}, fmt.Errorf("encode summary request: %w", err)
	}
	pauses := backoff.ExponentialBackOff{
		InitialInterval: c.settings.FirstPause, MaxInterval: c.settings.LongestPause,
		Multiplier: 2, RandomizationFactor: 0.5,
	}
	pauses.Reset()
	var known openEnds
	for attempt := 1; ; attempt++ {
		receipt, end, err := c.send(ctx, request, body)
		if err != nil {
			return Receipt{}, err
		}
		if end == nil {
			return receipt, nil
		}
		if ctx.Err() != nil {
			return Receipt{}, fmt.Errorf("summarise: %w", context.Cause(ctx))
		}
		if end.platform != nil {
			return Receipt{}, end.platform
		}
		known.note(end)
		pause := max(end.retryAfter, min(pauses.NextBackOff(), c.settings.LongestPause))
		if !end.again || attempt == c.settings.Attempts || pause > c.settings.LongestPause {
			return Receipt{}, known.verdict(end, attempt)
		}
		if err := wait(ctx, pause); err != nil {
			return Receipt{}, err
		}
	}
}

// send makes one attempt when it is this call's turn (P5). The turn comes before BeforeSend, so that nothing is noted
// as sent while it waits and the lease check is fresh when the request leaves; a pause holds no turn.
func (c *Client) send(ctx context.Context, request Request, body []byte) (Receipt, *ending, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return Receipt{}, nil, fmt.Errorf("summarise: %w", context.Cause(ctx))
	}
	if err := request.BeforeSend(ctx); err != nil {
		return Receipt{}, nil, err
	}
	receipt, end := c.attempt(ctx, request.IdempotencyKey, body)
	return receipt, end, nil
}

// openEnds is what the attempts of one call left open, whatever came later.
type openEnds struct {
	acted bool // some attempt may have had an effect
	lost  bool // some request was sent and its answer never came
}

func (l *openEnds) note(end *ending) {
	l.acted = l.acted || end.mayHaveActed
	l.lost = l.lost || errors.Is(end.kind, ErrOutcomeUnknown)
}

func (l *openEnds) verdict(end *ending, attempts int) *Error {
	verdict := &Error{Kind: end.kind, Reason: end.reason, MayHaveActed: l.acted, Attempts: attempts}
	if l.lost {
		verdict.Kind = ErrOutcomeUnknown
	}
	return verdict
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("summarise: %w", context.Cause(ctx))
	}
}
