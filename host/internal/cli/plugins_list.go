package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/plugins/install"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type pluginsListOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Store   install.Store
	JSON    bool
}

func newCmdPluginsList(f *Factory, runF func(context.Context, *pluginsListOptions) error) *cobra.Command {
	opts := &pluginsListOptions{Streams: f.Streams, Host: f.openOwn, Store: install.Store{Dir: host.InstalledPlugins()}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins that servers use and those that are installed; starts none",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsListRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"plugins":[{"name","path","servers","hooks","state","sha256","pins","lock","target","writers","source","version","signer","error"}]}`)
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
	told := map[string]bool{"": true}
	for i := range plugins {
		p := &plugins[i]
		opts.installed(p)
		if !told[p.Writers] && !opts.JSON {
			told[p.Writers] = true
			opts.Streams.Note("collet: %s", visible(p.Writers))
		}
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
		if p.Target != "" {
			where += " -> " + p.Target
		}
		if p.Error != "" {
			where = p.Error
		}
		rows = append(rows, []string{p.Name, cmp.Or(string(p.State), "-"), strings.Join(append(p.Servers, p.Hooks...), " "), cmp.Or(strings.TrimPrefix(p.Signer, "https://"), "-"), where})
	}
	return opts.Streams.Table([]string{"NAME", "PIN", "FOR", "ATTESTED BY", "FILE"}, rows)
}

// installed says of a plugin's file where it was installed from, and who attested it,
// when the receipt is of that file: one that was put there since is nobody's.
func (opts *pluginsListOptions) installed(p *host.Plugin) {
	if p.Path == "" || filepath.Dir(p.Path) != filepath.Clean(opts.Store.Dir) {
		return
	}
	r, err := opts.Store.Receipt(p.Name)
	if err != nil || p.SHA256 != "" && p.SHA256 != r.SHA256 {
		return
	}
	p.Source, p.Version = r.Source, r.Version
	if r.Attested != nil {
		p.Signer = cmp.Or(r.Attested.Identity, r.Attested.Repository)
	}
}

func pluginJSON(o *rawjson.Object, p *host.Plugin) {
	o.String("name", p.Name)
	o.OptionalString("path", p.Path)
	o.Strings("servers", p.Servers)
	o.Strings("hooks", p.Hooks)
	o.OptionalString("state", string(p.State))
	o.OptionalString("sha256", p.SHA256)
	o.Strings("pins", p.Pins)
	o.OptionalString("lock", p.Lock)
	o.OptionalString("target", p.Target)
	o.OptionalString("writers", p.Writers)
	o.OptionalString("source", p.Source)
	o.OptionalString("version", p.Version)
	o.OptionalString("signer", p.Signer)
	o.OptionalString("error", p.Error)
}
