package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type versionOptions struct {
	Streams *terminal.Streams
	Version string
	JSON    bool
}

func newCmdVersion(f *Factory, runF func(context.Context, *versionOptions) error) *cobra.Command {
	opts := &versionOptions{Streams: f.Streams, Version: f.Version}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of collet",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return versionRun(opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"version","go","os","arch"}`)
	return cmd
}

func versionRun(opts *versionOptions) error {
	if opts.JSON {
		var o rawjson.Object
		o.String("version", opts.Version)
		o.String("go", runtime.Version())
		o.String("os", runtime.GOOS)
		o.String("arch", runtime.GOARCH)
		return printJSON(opts.Streams, o.Bytes())
	}
	_, err := fmt.Fprintf(opts.Streams.Out, "collet %s (%s %s/%s)\n", opts.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
