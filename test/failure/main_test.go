package failure_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/test/fixture"
	"github.com/kesita/platform/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// pace is a fifth of production: the workers of these tests share a machine with many others.
func pace() timing.Timing { return timing.Production().Scale(0.2) }

// environment is what a worker of the database needs in that pace.
func environment(d *fixture.Database, more ...string) []string {
	return harness.Environment(d, append([]string{"TIMING=0.2"}, more...)...)
}

// count is how many lines of an operation with a reason the workers wrote together.
func count(workers []*harness.Worker, operation, reason string) int {
	n := 0
	for _, w := range workers {
		for _, line := range w.Lines() {
			if line.Operation == operation && line.Reason == reason {
				n++
			}
		}
	}
	return n
}

// about are the IDs of count workflows.
func about(prefix string, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
	}
	return ids
}
