package command

import (
	"context"
	"errors"

	"github.com/kesita/platform/coordination/boot"
)

type demoCommand struct {
	Docs   string `placeholder:"DIR" type:"path" help:"Folder with the documents to work on. Default: texts that come with the program."`
	Timing string `default:"demo" help:"demo, production, or a factor such as 0.2."`
	Keep   bool   `help:"Stay up afterwards, and say how to submit, search, look at leases, kill and pause a replica."`
}

// Run implements kong's command. The scenario itself is worker/demo.
func (demoCommand) Run(context.Context, *session) error {
	return failure{what: "demo", code: boot.ExitInternal, err: errors.New("this build has no demo")}
}
