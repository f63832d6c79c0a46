package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/layer"
)

type configPathOptions struct {
	Streams  *terminal.Streams
	Named    func() string
	Discover func(dir string) (*host.Discovery, error)
}

func newCmdConfigPath(f *Factory, runF func(context.Context, *configPathOptions) error) *cobra.Command {
	opts := &configPathOptions{Streams: f.Streams, Named: f.named, Discover: f.discover}
	return &cobra.Command{
		Use:   "path",
		Short: "List the configuration files, and say which are used",
		Long: `List the configuration files, lowest layer first: your own, then the project's. The
state of a file is used, absent, untrusted (the file has no effect, see 'collet trust')
or unreadable. A file named by --config or COLLET_CONFIG replaces both.`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return configPathRun(opts)
		},
	}
}

func configPathRun(opts *configPathOptions) error {
	var files []*layer.File
	if file := opts.Named(); file != "" {
		files = append(files, layer.Named(file))
	} else {
		found, err := opts.Discover("")
		if err != nil {
			return err
		}
		files = found.Files
	}
	var rows [][]string
	for _, file := range files {
		rows = append(rows, []string{string(file.Layer), string(file.State), file.Path})
		if file.Err != nil {
			opts.Streams.Note("collet: %s: %v", visible(file.Path), file.Err)
		}
	}
	return opts.Streams.Table([]string{"LAYER", "STATE", "FILE"}, rows)
}
