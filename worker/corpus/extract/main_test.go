package extract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kesita/platform/worker/corpus/extract"
)

func extracted(t *testing.T, raw, name string) (extract.Document, error) {
	t.Helper()
	return extract.Extract(t.Context(), strings.NewReader(raw), extract.Hint{Name: name})
}

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
