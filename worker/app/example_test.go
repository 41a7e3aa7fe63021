package app_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/kesita/platform/coordination/workflow"
	"github.com/kesita/platform/worker/app"
)

// A third team's service is its names, its queues and one function that registers its workflows. Here it is started
// with an empty environment, so it says what it wants and ends with the status for that. A real main passes os.Args,
// os.Environ and the status on to os.Exit; docs/add-a-service.md has one with a database.
func Example() {
	type greeting struct {
		Name string `json:"name"`
	}
	service := app.Service{
		Application: "kesita-greetings",
		Version:     "kesita-greetings-v1",
		Schema:      "greetings",
		Migrations:  fstest.MapFS{"migrations/00002_greetings.sql": {Data: []byte("-- +goose Up")}},
		Queues:      []string{"greetings"},
		Register: func(_ context.Context, w *app.Worker) error {
			workflow.Register(w, "greetings.greet", func(ctx workflow.Context, in greeting) (string, error) {
				return workflow.RunStep(ctx, "greet", func(context.Context) (string, error) {
					return "Good day, " + in.Name, nil
				})
			})
			return nil
		},
	}
	status := app.Main(context.Background(), service, nil, []string{"TIMING=slow"}, os.Stderr, os.Stdout)
	fmt.Println("status", status)
	// Output:
	// kesita-greetings: configuration: DATABASE_URL is not set; write postgres://LOGIN:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full
	//   TIMING is not understood; write production, demo, or a factor from 0.05 to 20 such as 0.5
	// status 78
}
