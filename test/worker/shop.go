package main

import (
	"context"
	"net/http"
	"syscall"
	"time"

	"github.com/kesita/platform/coordination/quarantine"
	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/app"
)

// countSQL counts the runs of a step; noteSQL is an effect that happens once.
const (
	countSQL = `insert into shop.orders (id, writer, amount) values ($1, $2, 1)
		on conflict (id) do update set amount = shop.orders.amount + 1, writer = excluded.writer`
	noteSQL = `insert into shop.orders (id, writer) values ($1, $2) on conflict (id) do nothing`
	gateSQL = `select exists (select from shop.orders where id = $1)`
)

// look is the pause between two looks at a gate.
const look = 20 * time.Millisecond

// shop holds what the workflows need.
type shop struct {
	worker   *app.Worker
	executor string
}

func register(_ context.Context, w *app.Worker) error {
	s := shop{worker: w, executor: w.Runtime.ExecutorID().String()}
	workflow.Register(w, "shop.order", s.order)
	workflow.Register(w, "shop.crash", s.crash)
	workflow.Register(w, "shop.stubborn", s.stubborn)
	workflow.Register(w, "shop.parent", s.parent)
	workflow.Register(w, "shop.sleep", s.sleep)
	workflow.Register(w, "shop.call", s.call)
	return nil
}

// settle notes settled/ID for a workflow that lost its last allowed worker.
func settle(w *app.Worker) quarantine.Hook {
	return func(ctx context.Context, workflowID, _ string) error {
		_, err := w.Pool.Exec(ctx, countSQL, "settled/"+workflowID, w.Runtime.ExecutorID().String())
		return err
	}
}

// order reserves, waits for gate/ID, and ships. The runs of each step are counted in run/ID/STEP; the effects are
// reserved/ID and shipped/ID.
func (s shop) order(ctx workflow.Context, id string) (string, error) {
	if _, err := workflow.RunStep(ctx, "reserve", s.effect("reserve", id, "reserved/"+id)); err != nil {
		return "", err
	}
	return workflow.RunStep(ctx, "ship", func(ctx context.Context) (string, error) {
		if err := s.count(ctx, "ship", id); err != nil {
			return "", err
		}
		if err := s.gate(ctx, id); err != nil {
			return "", err
		}
		return s.note(ctx, "shipped/"+id)
	})
}

// crash kills its process in the middle of a step until gate/ID is there.
func (s shop) crash(ctx workflow.Context, id string) (string, error) {
	return workflow.RunStep(ctx, "crash", func(ctx context.Context) (string, error) {
		if err := s.count(ctx, "crash", id); err != nil {
			return "", err
		}
		var open bool
		if err := s.worker.Pool.QueryRow(ctx, gateSQL, "gate/"+id).Scan(&open); err != nil || open {
			return "open", err
		}
		return "", syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	})
}

// stubborn does not hear its cancellation; it ends when gate/ID is there.
func (s shop) stubborn(ctx workflow.Context, id string) (string, error) {
	return workflow.RunStep(ctx, "stubborn", func(ctx context.Context) (string, error) {
		if err := s.count(ctx, "stubborn", id); err != nil {
			return "", err
		}
		if err := s.gate(context.WithoutCancel(ctx), id); err != nil {
			return "", err
		}
		return s.note(context.WithoutCancel(ctx), "done/"+id)
	}, workflow.Settle())
}

// parent starts one child and ends.
func (s shop) parent(ctx workflow.Context, id string) (string, error) {
	if err := workflow.Enqueue(ctx, "children", "shop.order", id+"/child", id+"/child"); err != nil {
		return "", err
	}
	return workflow.RunStep(ctx, "after", s.effect("after", id, "after/"+id))
}

// sleep waits durably for a second and notes woke/ID.
func (s shop) sleep(ctx workflow.Context, id string) (string, error) {
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	return workflow.RunStep(ctx, "wake", s.effect("wake", id, "woke/"+id))
}

// call waits for gate/ID and posts to the URL that is its ID. The header says who sent it.
func (s shop) call(ctx workflow.Context, id string) (string, error) {
	return workflow.RunStep(ctx, "call", func(ctx context.Context) (string, error) {
		if err := s.count(ctx, "call", id); err != nil {
			return "", err
		}
		if err := s.gate(ctx, id); err != nil {
			return "", err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, id, http.NoBody)
		if err != nil {
			return "", err
		}
		request.Header.Set("Executor", s.executor)
		response, err := s.worker.HTTP.Do(request)
		if err != nil {
			return "", err
		}
		return response.Status, response.Body.Close()
	})
}

func (s shop) effect(step, id, effect string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if err := s.count(ctx, step, id); err != nil {
			return "", err
		}
		return s.note(ctx, effect)
	}
}

func (s shop) count(ctx context.Context, step, id string) error {
	_, err := s.worker.Pool.Exec(ctx, countSQL, "run/"+id+"/"+step, s.executor)
	return err
}

func (s shop) note(ctx context.Context, effect string) (string, error) {
	_, err := s.worker.Pool.Exec(ctx, noteSQL, effect, s.executor)
	return effect, err
}

func (s shop) gate(ctx context.Context, id string) error {
	next := time.NewTicker(look)
	defer next.Stop()
	for {
		var open bool
		if err := s.worker.Pool.QueryRow(ctx, gateSQL, "gate/"+id).Scan(&open); err != nil || open {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
	}
}
