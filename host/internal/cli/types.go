package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

type typesOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)

	Pattern string
	Wait    time.Duration
}

func newCmdTypes(f *Factory, runF func(context.Context, *typesOptions) error) *cobra.Command {
	opts := &typesOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "types [PATTERN]",
		Short: "Print TypeScript declarations for scripts",
		Long: `Print a file of TypeScript declarations: everything that a script can use, with the
tools of all enabled servers, or those that PATTERN matches (as in 'collet tools list').
With this file, an editor completes and checks scripts.

The exit code is not 0 if the tools of any server are missing.`,
		Example: "  collet types > collet.d.ts\n  collet types github > github.d.ts",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q; quote a pattern so that the shell leaves it alone", args[1])
			}
			return nil
		},
		ValidArgsFunction: f.complete(f.completePattern),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.Pattern = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return typesRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	return cmd
}

func typesRun(ctx context.Context, opts *typesOptions) error {
	if opts.Wait <= 0 {
		return usagef("--wait %s: it must be longer than 0s", opts.Wait)
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	spinner := opts.Streams.Spin("waiting for servers")
	list, err := h.Tools(ctx, host.Query{Pattern: opts.Pattern, Wait: opts.Wait})
	spinner.Stop()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(opts.Streams.Out, list.TypeScript()); err != nil {
		return err
	}
	told := toolsListOptions{Streams: opts.Streams, Pattern: opts.Pattern}
	code := told.tellServers(list, len(h.Servers()))
	// A script that is right must not be found wrong for a server that was away.
	for i := range list.Servers {
		if s := &list.Servers[i]; s.Error != "" && s.State != "disabled" {
			code = worse(code, serverCode(s))
		}
	}
	return quiet(code)
}
