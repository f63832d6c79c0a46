package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/logfile"
	"github.com/collet-dev/collet/host/internal/name"
)

type serversLogsOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)

	Name   string // of a server, or of a hook
	Follow bool
	Lines  int
}

func newCmdServersLogs(f *Factory, runF func(context.Context, *serversLogsOptions) error) *cobra.Command {
	opts := &serversLogsOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what a server or a hook wrote to stderr",
		Long: `Show what a server or a hook wrote to stderr. Where a server has the same name as the
hook, the hook is hooks/NAME.`,
		Args:    exactly(1, "the NAME of a server or a hook"),
		Example: "  collet servers logs github -f\n  collet servers logs hooks/secretscan",

		ValidArgsFunction: f.complete(completeLog),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return serversLogsRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "keep printing new lines until Ctrl-C")
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
	log, err := findLog(h, opts.Name)
	if err != nil {
		return err
	}
	var out io.Writer = opts.Streams.Out
	if opts.Streams.OutTerminal {
		out = terminal.Escaper(out)
	}
	if log.file == "" {
		opts.Streams.Note("collet: %s is %s and has no log", log.of, log.state)
		return nil
	}
	info, err := os.Stat(log.file)
	if none := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0; none && !opts.Follow {
		opts.Streams.Note("collet: %s has not written anything yet", log.of)
		return nil
	}
	err = logfile.Tail(ctx, log.file, opts.Lines, opts.Follow, out)
	if err != nil && ctx.Err() == nil {
		return exitf(exitUnreachable, "log of %s: %v", log.of, err)
	}
	return ctx.Err()
}

// hookPrefix is what a hook's name has in front where a server is called the same.
const hookPrefix = "hooks/"

// log is what a server or a hook writes.
type log struct {
	of, state string // state is that of a server
	file      string
}

// findLog is the log of what is called that: a server, else a hook.
func findLog(h catalog, want string) (*log, error) {
	servers, hooks := h.Servers(), h.HookLogs()
	var names []string
	for _, s := range servers {
		if s.Name == want {
			return &log{s.Name, s.State, s.LogFile}, nil
		}
		names = append(names, s.Name)
	}
	for _, k := range hooks {
		if k.Name == strings.TrimPrefix(want, hookPrefix) {
			return &log{of: "the hook " + k.Name, file: k.File}, nil
		}
		names = append(names, k.Name)
	}
	return nil, exitf(exitNotFound, "%s", unknownLog(want, names, len(hooks) > 0))
}

// unknownLog says that nothing is called that, and what is called nearly so.
func unknownLog(want string, names []string, hooks bool) string {
	message := "no server is called " + want
	if hooks {
		message = "no server and no hook is called " + want
	}
	if near := name.Near(want, names, 3); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return message
}

// completeLog completes the name of what has a log; it starts nothing.
func completeLog(_ context.Context, h openHost, _ *cobra.Command, args []string, word string) *candidates {
	c := nothing()
	if len(args) > 0 {
		return c
	}
	addServers(c, h, word, "")
	for _, k := range h.HookLogs() {
		called := k.Name
		if slices.ContainsFunc(h.Servers(), func(s host.Server) bool { return s.Name == k.Name }) {
			called = hookPrefix + k.Name
		}
		c.add(word, called, "a hook")
	}
	return c
}
