// Command provider runs the small summary provider of worker/provider. It ends
// in an orderly way on SIGTERM and SIGINT.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kesita/platform/worker/provider"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := provider.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
