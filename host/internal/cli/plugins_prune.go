package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/plugins/install"
)

type pluginsPruneOptions struct {
	Streams *terminal.Streams
	Store   install.Store
	// Configs are the mcp.toml files of this command, absolute; those of others are known.
	Configs func() ([]string, error)
	// Named says which versions files of pins name.
	Named func(configs, digests []string) (map[string]string, error)

	DryRun bool
}

func newCmdPluginsPrune(f *Factory, runF func(context.Context, *pluginsPruneOptions) error) *cobra.Command {
	opts := &pluginsPruneOptions{Streams: f.Streams, Store: install.Store{Dir: host.InstalledPlugins()}, Configs: f.configFiles, Named: host.NamedVersions}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove versions of installed plugins that nothing needs any more",
		Long: `Remove the versions of installed plugins that nothing needs any more. A version stays if
it is the installed one, if an mcp.toml or mcp.lock names it, or while a process
executes it. collet looks into the files of this command, those of projects that you
have trusted or refused, and all others for which it has started an installed plugin.
You can install a removed version again.`,
		Example: "  collet plugins prune --dry-run\n  collet plugins prune",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.home(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsPruneRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "print what would be removed, but remove nothing")
	return cmd
}

func pluginsPruneRun(ctx context.Context, opts *pluginsPruneOptions) error {
	configs, err := opts.Configs()
	if err != nil {
		return err
	}
	all, err := opts.Store.Prune(ctx, install.Pruning{
		Named:  func(digests []string) (map[string]string, error) { return opts.Named(configs, digests) },
		Copies: host.PluginCopies(),
		DryRun: opts.DryRun,
	})
	if err != nil {
		return exitf(exitConfiguration, "%s", visible(err.Error()))
	}
	rows := make([][]string, 0, len(all))
	removed, bytes, failed := 0, int64(0), exitOK
	for _, v := range all {
		why := "removed"
		switch {
		case v.Needed != "":
			why = "stays: " + v.Needed
		case v.Fault != nil:
			why, failed = "cannot be removed: "+visible(v.Fault.Error()), exitConfiguration
		default:
			removed++
			bytes += v.Bytes
			if opts.DryRun {
				why = "would be removed"
			}
			if v.Foreign != "" {
				why += "; its directory stays, because it holds " + visible(v.Foreign)
			}
		}
		rows = append(rows, []string{strings.Join(v.Names, " "), v.SHA256[:16], strconv.FormatInt(v.Bytes, 10), why})
	}
	if len(rows) > 0 {
		if err := opts.Streams.Table([]string{"NAME", "SHA256", "BYTES", ""}, rows); err != nil {
			return err
		}
	}
	verb := "removed"
	if opts.DryRun {
		verb = "would remove"
	}
	opts.Streams.Note("collet: %s %s of %d, %d bytes", verb, count(removed, "version"), len(all), bytes)
	return quiet(failed)
}

// configFiles are the absolute paths of the mcp.toml files that this command is about,
// whether they count or not.
func (f *Factory) configFiles() ([]string, error) {
	if named := f.named(); named != "" {
		path, err := filepath.Abs(named)
		return []string{path}, err
	}
	found, err := f.discover("")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range found.Files {
		all = append(all, file.Path)
	}
	return all, nil
}
