// Noskip reads the JSON logs of go test named on its command line. It fails
// when a test was skipped or when none ran.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout))
}

func run(paths []string, out io.Writer) int {
	total := &summary{}
	for _, path := range paths {
		if err := total.addFile(path); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
	}
	fmt.Fprintln(out, total)
	if !total.good() {
		return 1
	}
	return 0
}
