package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
)

type configSchemaOptions struct{ Streams *terminal.Streams }

func newCmdConfigSchema(f *Factory, runF func(context.Context, *configSchemaOptions) error) *cobra.Command {
	opts := &configSchemaOptions{Streams: f.Streams}
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of mcp.toml, for editors",
		Long: `Print the JSON Schema (draft-07) of mcp.toml. With it, an editor that supports TOML
completes keys and marks errors. Most editors use the language server taplo: save the
schema, and begin mcp.toml with

  #:schema ./mcp.schema.json`,
		Example: "  collet config schema > mcp.schema.json",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			_, err := opts.Streams.Out.Write(config.Schema())
			return err
		},
	}
}
