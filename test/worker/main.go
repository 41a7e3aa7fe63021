// Command worker is the fixture's shop as a real worker process, for black-box tests. Its workflows do on request what
// goes wrong in production: they wait, crash, ignore their cancellation, start children and sleep.
package main

import (
	"context"
	"os"

	"github.com/kesita/platform/worker/app"
)

func main() {
	os.Exit(app.Main(context.Background(), app.Service{
		Application: "kesita-shop",
		Version:     "kesita-shop-v1",
		Schema:      "shop",
		Queues:      []string{"orders", "children"},
		Register:    register,
		Settle:      settle,
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
