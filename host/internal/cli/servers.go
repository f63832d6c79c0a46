package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/logfile"
	"github.com/collet-dev/collet/host/internal/name"
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
thing that happens is a line. It ends with Ctrl-C, with exit code 130, or with the
host, with 4.`
	opts := &serversWatchOptions{Streams: f.Streams, Now: time.Now, Host: func(ctx context.Context) (watched, error) { return f.runningHost(ctx) }}
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

type serversLogsOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)

	Server string
	Follow bool
	Lines  int
}

func newCmdServersLogs(f *Factory, runF func(context.Context, *serversLogsOptions) error) *cobra.Command {
	opts := &serversLogsOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what a server wrote to stderr",
		Args:  exactly(1, "the server's NAME"),

		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Server = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return serversLogsRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "go on with what is written from now on, until Ctrl-C")
	cmd.Flags().IntVarP(&opts.Lines, "lines", "n", 100, "how many of the last lines to show")
	return cmd
}

func serversLogsRun(ctx context.Context, opts *serversLogsOptions) error {
	if opts.Lines < 0 {
		return usagef("-n %d: it cannot be less than 0", opts.Lines)
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	server, err := findServer(h.Servers(), opts.Server)
	if err != nil {
		return err
	}
	var out io.Writer = opts.Streams.Out
	if opts.Streams.OutTerminal {
		out = terminal.Escaper(out)
	}
	if server.LogFile == "" {
		opts.Streams.Note("collet: %s is %s and has no log", server.Name, server.State)
		return nil
	}
	info, err := os.Stat(server.LogFile)
	if none := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0; none && !opts.Follow {
		opts.Streams.Note("collet: %s has not written anything yet", server.Name)
		return nil
	}
	err = logfile.Tail(ctx, server.LogFile, opts.Lines, opts.Follow, out)
	if err != nil && ctx.Err() == nil {
		return exitf(exitUnreachable, "log of %s: %v", server.Name, err)
	}
	return ctx.Err()
}

func findServer(servers []host.Server, want string) (*host.Server, error) {
	names := make([]string, 0, len(servers))
	for i := range servers {
		if servers[i].Name == want {
			return &servers[i], nil
		}
		names = append(names, servers[i].Name)
	}
	message := "no server is called " + want
	if near := name.Near(want, names, 3); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, exitf(exitNotFound, "%s", message)
}
