// Command corpus runs a worker of the corpus service; see worker/app for its arguments and exit statuses and
// docs/configuration.md for its environment.
package main

import (
	"context"
	"os"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/corpus"
)

func main() {
	os.Exit(app.Main(context.Background(), corpus.Service(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
