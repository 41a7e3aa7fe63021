package schema_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/localpg/localpgtest"
)

func TestMain(m *testing.M) { os.Exit(localpgtest.Main(m, func() error { return goleak.Find() })) }
