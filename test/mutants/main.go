// Mutants breaks the code in known ways, one at a time, and runs the tests that must notice.
//
// It owns the list of ways and the tests that answer for each. The tree is never changed: a mutant exists in an overlay
// of the Go build. One line a mutant; the exit status is 1 when one survived, when its text is no longer in the code, or
// when its tests fail already without it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, mutants(), os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}
