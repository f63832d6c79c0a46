package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type pluginsListOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	JSON    bool
}

func newCmdPluginsList(f *Factory, runF func(context.Context, *pluginsListOptions) error) *cobra.Command {
	opts := &pluginsListOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of the servers, and those that are installed; starts none",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsListRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"plugins":[{"name","path","servers","error"}]}`)
	return cmd
}

func pluginsListRun(ctx context.Context, opts *pluginsListOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	plugins, err := h.Plugins(ctx)
	if err != nil {
		return err
	}
	if opts.JSON {
		var o rawjson.Object
		o.Raw("plugins", array(plugins, pluginJSON))
		return printJSON(opts.Streams, o.Bytes())
	}
	if len(plugins) == 0 {
		opts.Streams.Note("collet: no plugins: no servers are configured, and none is installed")
		return nil
	}
	rows := make([][]string, 0, len(plugins))
	for _, p := range plugins {
		where := p.Path
		if where == "" {
			where = p.Error
		}
		rows = append(rows, []string{p.Name, strings.Join(p.Servers, " "), where})
	}
	return opts.Streams.Table([]string{"NAME", "SERVERS", "FILE"}, rows)
}

func pluginJSON(o *rawjson.Object, p *host.Plugin) {
	o.String("name", p.Name)
	o.OptionalString("path", p.Path)
	o.Strings("servers", p.Servers)
	o.OptionalString("error", p.Error)
}
