package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/kesita/platform/worker/app"
	"github.com/kesita/platform/worker/provider"
)

// workerCommand runs a worker process of a service, as its own program does. The demo starts itself this way, so that
// one program is enough.
type workerCommand struct {
	Arguments []string `arg:"" help:"The service, then the arguments of its program."`
}

// Run implements kong's command.
func (c workerCommand) Run(ctx context.Context, s *session) error {
	name, rest := c.Arguments[0], c.Arguments[1:]
	i := slices.IndexFunc(targets(), func(t target) bool { return t.name == name })
	if i < 0 {
		return refused("worker", fmt.Errorf("no service %q", printable(name)))
	}
	return exitStatus(app.Main(ctx, targets()[i].service, rest, s.entries(), s.out, s.err))
}

// providerCommand runs the summary provider.
type providerCommand struct {
	Arguments []string `arg:"" optional:"" help:"The arguments of the provider."`
}

// Run implements kong's command.
func (c providerCommand) Run(ctx context.Context, s *session) error {
	return exitStatus(provider.Main(ctx, c.Arguments, s.out, s.err))
}

// exitStatus is the outcome of a command that told everything itself.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// entries are the environment as a process takes it.
func (s *session) entries() []string {
	list := make([]string, 0, len(s.environ))
	for name, value := range s.environ {
		list = append(list, name+"="+value)
	}
	return list
}
