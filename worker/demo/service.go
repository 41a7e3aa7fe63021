package demo

import (
	"context"
	"slices"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/corpus"
	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/product"
)

// service is one service in the demo.
type service struct {
	// name is what people, processes and the command line call it.
	name    string
	service app.Service
	// submit hands over one piece of work for each document and fills in evidence.Items.
	submit func(ctx context.Context, r *run, s *service) error
	// read brings evidence.Items up to date from the business tables.
	read func(ctx context.Context, s *service) error

	database *database
	replicas []*replica
	evidence evidence.Service
}

func services() []*service {
	return []*service{
		{name: "product", service: product.Service(), submit: submitTasks, read: readTasks},
		{name: "corpus", service: corpus.Service(), submit: submitJobs, read: readJobs},
	}
}

// refresh reads everything that can be read about the service.
func (s *service) refresh(ctx context.Context) error {
	if err := s.read(ctx, s); err != nil {
		return err
	}
	names := map[string]string{}
	for _, w := range s.replicas {
		names[w.executorID] = w.Name()
	}
	return s.evidence.ReadLeases(ctx, s.database.reader, names)
}

// settled counts the work that is at its end, in the business tables and in the journal.
func (s *service) settled() int {
	count := 0
	for _, i := range s.evidence.Items {
		if h, known := s.evidence.History(i.WorkflowID); known && h.State.Terminal() && i.Settled {
			count++
		}
	}
	return count
}

func (r *run) service(name string) *service {
	return r.services[slices.IndexFunc(r.services, func(s *service) bool { return s.name == name })]
}
