package demo

import (
	"context"
	"os"
	ossignal "os/signal"
	"syscall"
	"testing"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/provider"
)

// TestMain makes this test binary each of the demo's processes, as the command line does.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "worker":
		for _, s := range services() {
			if s.name == os.Args[2] {
				os.Exit(app.Main(context.Background(), s.service, os.Args[3:], os.Environ(), os.Stdout, os.Stderr))
			}
		}
	case "provider":
		ctx, stop := ossignal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := provider.Main(ctx, os.Args[2:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	case "demo":
		ctx, stop := ossignal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
		options := Options{
			Docs: os.Getenv("DOCS"), Timing: os.Getenv("TIMING"), Keep: os.Getenv("KEEP") != "", JSON: os.Getenv("JSON") != "",
			Program: os.Args[:1], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
		}
		if os.Getenv("LOSE") != "" {
			options.afterSettled = loseATask
		}
		code := Run(ctx, options)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}
