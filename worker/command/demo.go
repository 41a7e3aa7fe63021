package command

import (
	"context"
	"fmt"
	"os"

	"github.com/kesita/platform/worker/demo"
)

type demoCommand struct {
	Docs   string `placeholder:"DIR" type:"path" help:"Folder with the documents to work on. Default: texts that come with the program."`
	Timing string `default:"demo" help:"demo, production, or a factor such as 0.2."`
	Keep   bool   `help:"Stay up afterwards, and say how to submit, search, look at leases, kill and pause a replica."`
	Logs   string `placeholder:"DIR" type:"path" help:"Folder for the logs of all processes. Default: a temporary one, which stays only when the demo fails."`
}

// Run implements kong's command. The scenario itself is worker/demo; its processes are this program again.
func (c demoCommand) Run(ctx context.Context, s *session) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return exitStatus(demo.Run(ctx, demo.Options{
		Docs: c.Docs, Timing: c.Timing, Keep: c.Keep, Logs: c.Logs, JSON: s.json,
		Program: []string{self}, Environ: s.entries(), Stdout: s.out, Stderr: s.err,
	}))
}
