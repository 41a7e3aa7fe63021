// Command api stands for a process that asks for work: it submits one reminder and commits.
package main

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/submit"
)

func main() {
	if err := remind(context.Background(), os.Getenv("DATABASE_URL"), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func remind(ctx context.Context, url, invoice string) error {
	client, err := submit.Open(ctx, url, "kesita-invoices", "kesita-invoices-v1")
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Rows of your own go here: they and the work exist together or not at all.
		return client.Submit(ctx, tx, submit.Request{
			Queue: "invoices-remind", Workflow: "invoices.remind", ID: "remind/" + invoice,
			Input: map[string]string{"invoice": invoice},
		})
	})
}
