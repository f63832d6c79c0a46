package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

func newCmdServers(f *Factory) *cobra.Command {
	cmd := group("servers <command>", "List the configured servers, watch them, read their logs",
		"  collet servers list\n  collet servers --watch\n  collet servers logs github -f",
		newCmdServersList(f, nil), newCmdServersLogs(f, nil), newCmdServersRestart(f, nil))
	cmd.Long = `List the configured servers, watch those of a running host, read their logs.

--watch shows the servers of the running host (daemon, serve): their states, the
processes of their adapters, calls since the watch began, calls in flight and the
last error. On a terminal the view is replaced as things happen; elsewhere each
thing that happens is a line. It ends with Ctrl-C, with exit code 130, with the host,
with 4, or when nobody reads what it writes.`
	opts := &serversWatchOptions{Streams: f.Streams, Now: time.Now, Resized: terminal.Resized, Host: func(ctx context.Context) (watched, error) { return f.runningHost(ctx) }}
	var look bool
	cmd.Flags().BoolVar(&look, "watch", false, "show the servers of the running host, until Ctrl-C")
	help := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if look {
			return serversWatchRun(cmd.Context(), opts)
		}
		return help(cmd, args)
	}
	return cmd
}

type serversListOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	JSON    bool
}

func newCmdServersList(f *Factory, runF func(context.Context, *serversListOptions) error) *cobra.Command {
	opts := &serversListOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the configured servers; starts none",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return serversListRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"servers":[{"name","state","plugin","error"}]}`)
	return cmd
}

func serversListRun(ctx context.Context, opts *serversListOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	servers := h.Servers()
	for i, s := range servers {
		if st, err := h.Credential(ctx, s.Name); err == nil && s.Error == "" && s.State != "disabled" && st.Wants() {
			servers[i].Error = "needs login: collet auth login " + s.Name
		}
	}
	if opts.JSON {
		var o rawjson.Object
		o.Raw("servers", serversJSON(servers))
		return printJSON(opts.Streams, o.Bytes())
	}
	if len(servers) == 0 {
		opts.Streams.Note("collet: no servers are configured")
		return nil
	}
	rows := make([][]string, 0, len(servers))
	for _, s := range servers {
		rows = append(rows, []string{s.Name, s.State, s.Plugin, s.Error})
	}
	return opts.Streams.Table([]string{"NAME", "STATE", "PLUGIN", "ERROR"}, rows)
}
