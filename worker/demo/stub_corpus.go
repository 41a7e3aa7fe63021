package demo

import (
	"context"

	"github.com/kesita/platform/worker/demo/evidence"
)

func plain(_ string, text []byte) (string, error) { return string(text), nil }

func (r *run) find(context.Context) (evidence.Search, error) { return evidence.Search{}, nil }

func (r *run) keep(ctx context.Context) { <-ctx.Done() }
