package source

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kesita/platform/worker/corpus/refusal"
)

func (o *Opener) openWeb(ctx context.Context, at *url.URL) (document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return document{}, fmt.Errorf("%w: not a URL", refusal.UnknownSource)
	}
	request.Header.Set("Accept", "text/html, text/markdown, text/plain, text/*;q=0.5")
	response, err := o.config.HTTP.Do(request)
	if err != nil {
		return document{}, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return document{}, answered(response.StatusCode)
	}
	return document{body: response.Body, size: response.ContentLength, mediaType: response.Header.Get("Content-Type")}, nil
}

// answered is the refusal behind an HTTP status other than 200.
func answered(status int) error {
	code := refusal.Unreadable
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		code = refusal.Missing
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		code = refusal.Unavailable
	}
	return fmt.Errorf("%w: the server answered %d", code, status)
}
