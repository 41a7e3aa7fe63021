// Command invoices is the whole worker of a third team: it notes each reminder once.
package main

import (
	"context"
	"embed"
	"os"

	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/app"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed note.sql
var noteSQL string

// Reminder is the input of the workflow; it is stored in the journal, so it holds identifiers and no data.
type Reminder struct {
	Invoice string `json:"invoice"`
}

func main() {
	os.Exit(app.Main(context.Background(), app.Service{
		Application: "kesita-invoices",
		Version:     "kesita-invoices-v1",
		Schema:      "invoices",
		Migrations:  migrations,
		Queues:      []string{"invoices-remind"},
		Register:    register,
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func register(_ context.Context, w *app.Worker) error {
	workflow.Register(w, "invoices.remind", func(ctx workflow.Context, in Reminder) (string, error) {
		return workflow.RunStep(ctx, "note", func(ctx context.Context) (string, error) {
			_, err := w.Pool.Exec(ctx, noteSQL, in.Invoice)
			return in.Invoice, err
		})
	})
	return nil
}
