// Command kesita is the platform's command line; see worker/command.
package main

import (
	"context"
	"os"

	"github.com/kesita/platform/worker/command"
)

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
