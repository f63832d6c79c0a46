package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// restarter is a host of another process, which can start its servers anew.
type restarter interface {
	Restart(ctx context.Context, server string) error
	Servers() []host.Server
	Close() error
}

type serversRestartOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (restarter, error)
	Server  string
}

func newCmdServersRestart(f *Factory, runF func(context.Context, *serversRestartOptions) error) *cobra.Command {
	opts := &serversRestartOptions{Streams: f.Streams, Host: func(ctx context.Context) (restarter, error) { return f.runningHost(ctx) }}
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "Restart a server of the running host",
		Long: `Restart a server of the running host, and wait until it is up. Calls in flight
get up to 10 seconds to finish. Without a running host (daemon, serve) there is nothing to
restart: each command starts the servers it needs.`,
		Example:           "  collet servers restart github",
		Args:              exactly(1, "the server's NAME"),
		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Server = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return serversRestartRun(cmd.Context(), opts)
		},
	}
}

func serversRestartRun(ctx context.Context, opts *serversRestartOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	spinner := opts.Streams.Spin("restarting " + opts.Server)
	err = h.Restart(ctx, opts.Server)
	spinner.Stop()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
	case errors.As(err, new(*host.Failure)):
		return err
	default:
		return exitf(exitUnreachable, "restart %s: %v", opts.Server, err)
	}
	for _, s := range h.Servers() {
		if s.Name == opts.Server {
			opts.Streams.Note("collet: %s is %s", s.Name, stateText(s.State, &s))
		}
	}
	return nil
}
