package summarise

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/provider/contract"
)

// ending is how an attempt failed.
type ending struct {
	kind         error // what the call returns if this attempt is the last
	reason       Reason
	again        bool // another attempt can succeed
	mayHaveActed bool
	retryAfter   time.Duration // what the provider asked for, 0 for nothing
	platform     error         // not about the provider: the transport's own lease check said no (F7)
}

// attempt sends one request and judges its answer.
func (c *Client) attempt(ctx context.Context, key string, body []byte) (Receipt, *ending) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.AttemptTimeout)
	defer cancel()
	var track tracker
	request, err := http.NewRequestWithContext(track.follow(ctx), http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return Receipt{}, &ending{kind: ErrProviderUnavailable, reason: Unreachable} // Validate lets no such address through
	}
	request.Header.Set("Content-Type", contract.MediaType)
	request.Header.Set("Accept", contract.MediaType)
	request.Header.Set(contract.HeaderIdempotencyKey, key)
	response, err := c.http.Do(request)
	if fault.Infrastructure(err) {
		return Receipt{}, &ending{platform: err}
	}
	if err != nil {
		return Receipt{}, lost(ctx, !track.neverLeft())
	}
	defer func() { _ = response.Body.Close() }()
	if end := judgeStatus(response); end != nil {
		return Receipt{}, end
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, c.settings.ResponseBytes+1))
	if err != nil {
		return Receipt{}, lost(ctx, true)
	}
	if int64(len(answer)) > c.settings.ResponseBytes {
		return Receipt{}, nonsense(TooLong)
	}
	return judgeBody(answer)
}

// lost is the ending of an attempt without a whole answer.
func lost(ctx context.Context, sent bool) *ending {
	end := &ending{kind: ErrProviderUnavailable, reason: Unreachable, again: true}
	if sent {
		end.kind, end.reason, end.mayHaveActed = ErrOutcomeUnknown, ConnectionLost, true
	}
	if ctx.Err() != nil {
		end.reason = TimedOut
	}
	return end
}

func nonsense(reason Reason) *ending {
	return &ending{kind: ErrProviderNonsense, reason: reason, mayHaveActed: true}
}

// judgeStatus returns nil for a 200 with the contract's media type.
func judgeStatus(response *http.Response) *ending {
	status := response.StatusCode
	switch {
	case status == http.StatusOK:
		if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != contract.MediaType {
			return nonsense(WrongMediaType)
		}
		return nil
	case status == http.StatusTooManyRequests:
		return &ending{kind: ErrProviderUnavailable, reason: Busy, again: true, retryAfter: retryAfter(response.Header)}
	case status >= http.StatusInternalServerError:
		// A gateway may say so of a provider that did the work: only 429 promises that nothing happened.
		return &ending{
			kind: ErrProviderUnavailable, reason: ServerError, again: true, mayHaveActed: true,
			retryAfter: retryAfter(response.Header),
		}
	}
	if status < http.StatusMultipleChoices {
		return nonsense(UnexpectedStatus) // some success, but not this contract's
	}
	return &ending{kind: ErrProviderRefused, reason: refusal(status)}
}

func refusal(status int) Reason {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return BadRequest
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthorised
	case http.StatusNotFound:
		return NotFound
	case http.StatusConflict:
		return KeyReused
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	}
	return UnexpectedStatus
}

// retryAfter reads seconds or an HTTP date; anything else is 0.
func retryAfter(header http.Header) time.Duration {
	value := header.Get(contract.HeaderRetryAfter)
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), maxRetrySeconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// maxRetrySeconds keeps the conversion from overflowing: a year.
const maxRetrySeconds = 365 * 24 * 60 * 60

func judgeBody(answer []byte) (Receipt, *ending) {
	var response contract.SummaryResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return Receipt{}, nonsense(Unreadable)
	}
	if !isLabel(response.ReceiptID) || !isLabel(response.Model) ||
		strings.TrimSpace(response.Summary) == "" || strings.ContainsRune(response.Summary, 0) {
		return Receipt{}, nonsense(Incomplete)
	}
	return Receipt{
		ID: response.ReceiptID, Summary: response.Summary, Model: response.Model, Replayed: response.Replayed,
	}, nil
}

// isLabel bounds what is stored as an identifier.
func isLabel(value string) bool {
	const longest = 200
	return value != "" && len(value) <= longest && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' })
}

// tracker watches one request leave.
type tracker struct {
	asked, connected atomic.Bool
}

func (t *tracker) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { t.connected.Store(true) },
	})
}

// neverLeft is true when the transport asked for a connection and got none. A
// transport that tells nothing is taken to have sent.
func (t *tracker) neverLeft() bool { return t.asked.Load() && !t.connected.Load() }
