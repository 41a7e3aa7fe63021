package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/kesita/platform/coordination"
	"github.com/kesita/platform/coordination/boot"
)

// start makes attempts until one worker works, the error is one that waiting cannot heal, or ctx ends (H6).
func (p *process) start(ctx context.Context) (worker *Worker, err error) {
	err = boot.Run(ctx, boot.Config{
		Timing: p.settings.Timing, Log: p.log, Starting: p.health.Starting,
		Attempt: func(ctx context.Context) error {
			var err error
			worker, err = p.attempt(ctx)
			return err
		},
	})
	return worker, err
}

// attempt makes one start with a fresh executor. After an error nothing of it is left.
func (p *process) attempt(ctx context.Context) (*Worker, error) {
	runtime, err := coordination.Open(ctx, p.config)
	if err != nil {
		return nil, err
	}
	w := &Worker{Runtime: runtime, HTTP: outboundClient(p.settings, runtime.Transport), Settings: p.settings, Log: runtime.Log()}
	w.OnStop(w.HTTP.CloseIdleConnections)
	if err := p.launch(ctx, w); err != nil {
		w.giveBack()
		runtime.Discard(ctx)
		return nil, err
	}
	return w, nil
}

func (p *process) launch(ctx context.Context, w *Worker) error {
	var err error
	if w.Pool, err = w.Runtime.ConfigurePool(ctx, p.settings.DatabaseURL.Reveal(), p.settings.BusinessConnections); err != nil {
		return err
	}
	if err := p.service.Register(ctx, w); err != nil {
		return fmt.Errorf("register %s: %w", p.service.Application, err)
	}
	if p.service.Settle != nil {
		w.Runtime.SettleWith(p.service.Settle(w))
	}
	for _, name := range p.service.Queues {
		if err := w.Runtime.AddQueue(coordination.Queue{Name: name, Concurrency: p.settings.QueueConcurrency}); err != nil {
			return err
		}
	}
	if err := w.Runtime.Launch(ctx); err != nil {
		return err
	}
	p.health.Launched(slices.Concat(w.Runtime.Readiness(), w.checks))
	return nil
}

// giveBack returns what the service opened.
func (w *Worker) giveBack() {
	for _, stop := range slices.Backward(w.stops) {
		stop()
	}
	w.stops = nil
}
