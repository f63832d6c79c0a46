package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

func newCmdConfig(f *Factory) *cobra.Command {
	return group("config <command>", "Check and show the configuration, or add to it", "  collet config check --config mcp.toml\n  collet config show",
		newCmdConfigCheck(f, nil), newCmdConfigShow(f, nil), newCmdConfigSchema(f, nil), newCmdConfigPath(f, nil), newCmdConfigImport(f, nil))
}

type configCheckOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
}

func newCmdConfigCheck(f *Factory, runF func(context.Context, *configCheckOptions) error) *cobra.Command {
	opts := &configCheckOptions{Streams: f.Streams, Host: f.openSilently}
	return &cobra.Command{
		Use:   "check",
		Short: "List the problems of the configuration; exit code 3 if there are any",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return configCheckRun(cmd.Context(), opts)
		},
	}
}

func configCheckRun(ctx context.Context, opts *configCheckOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	problems := h.Problems()
	for _, p := range problems {
		if _, err := fmt.Fprintln(opts.Streams.Out, opts.Streams.Text(problemText(p))); err != nil {
			return err
		}
	}
	fine, all := 0, 0
	for _, s := range h.Servers() {
		all++
		if s.State != "misconfigured" {
			fine++
		}
	}
	if _, err := fmt.Fprintf(opts.Streams.Out, "%d of %d servers are fine\n", fine, all); err != nil {
		return err
	}
	if len(problems) > 0 {
		return quiet(exitConfiguration)
	}
	return nil
}
