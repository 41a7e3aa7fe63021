package harness

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/localpg/localpgtest"
)

// parallel is how many tests run at a time: they wait for leases and polls far more than they compute.
const parallel = "8"

// Main runs a package's tests against one server, proves that they left no goroutine behind, and removes what was
// built. Use:
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
func Main(m *testing.M) int {
	flag.Parse()
	if !flagGiven("test.parallel") {
		_ = flag.Set("test.parallel", parallel)
	}
	defer func() { _ = os.RemoveAll(binary.dir) }()
	return localpgtest.Main(m, func() error { return goleak.Find() })
}

func flagGiven(name string) bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}
