package localpg_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kesita/platform/worker/localpg"
)

const (
	patience = 30 * time.Second
	poll     = 20 * time.Millisecond
)

// roleVariable makes this test binary play a parent that can be killed.
const roleVariable = "LOCALPG_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(parent())
	}
	goleak.VerifyTestMain(m)
}

// parent starts a server, says where it is and closes it at its end of input.
func parent() int {
	server, err := localpg.Start(context.Background(), localpg.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(server.PID(), server.LogPath())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := server.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
