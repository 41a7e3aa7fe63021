package demo

import (
	"context"
	"fmt"

	"github.com/kesita/platform/coordination/submit"
	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/product"
	"github.com/kesita/platform/worker/product/submission"
	"github.com/kesita/platform/worker/product/task"
)

const (
	tenant    = "demo"
	author    = "kesita demo"
	sentences = 2
)

// submitTasks asks for a summary of every document that has text. Why a document has none is noted with it.
func submitTasks(ctx context.Context, r *run, s *service) error {
	client, err := submit.Open(ctx, s.database.url(s.database.logins.API), product.Application, product.Version)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // what was submitted is committed
	for i := range r.documents {
		d := &r.documents[i]
		if d.text == "" {
			continue
		}
		submitted, err := submission.Submit(ctx, s.database.api, client, submission.Request{
			Tenant: tenant, Author: author, Title: d.Name, Body: d.text, Sentences: sentences,
		})
		if err != nil {
			return fmt.Errorf("submit %s: %w", d.Name, err)
		}
		in := task.Input{TenantID: submitted.TenantID, TaskID: submitted.TaskID, Generation: submitted.Generation}
		s.evidence.Items = append(s.evidence.Items, evidence.Item{
			ID: submitted.TaskID.String(), Document: d.Name, WorkflowID: submitted.WorkflowID, Key: in.IdempotencyKey(),
		})
	}
	return nil
}

// readTasks brings the tasks up to date.
func readTasks(ctx context.Context, s *service) error {
	rows, err := evidence.Tasks(ctx, s.database.reader)
	if err != nil {
		return err
	}
	s.evidence.Apply(rows)
	return nil
}

// summary reads what was published for the document whose work was interrupted, or for the first one otherwise.
func (r *run) summary(ctx context.Context) (summary, error) {
	s := r.service("product")
	chosen := ""
	for _, held := range s.evidence.Kill.Held {
		chosen = held.WorkflowID
		if evidence.UnderWay(held) {
			break
		}
	}
	for _, i := range s.evidence.Items {
		if i.WorkflowID != chosen || i.Published == 0 {
			continue
		}
		at, err := evidence.Published(ctx, s.database.reader, i.ID)
		return summary{Document: i.Document, Revision: at.Revision, Text: at.Text}, err
	}
	return summary{}, nil
}
