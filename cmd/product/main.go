// Command product runs a worker of the product service; see worker/app for its arguments and exit statuses and
// docs/configuration.md for its environment.
package main

import (
	"context"
	"os"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/product"
)

func main() {
	os.Exit(app.Main(context.Background(), product.Service(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
