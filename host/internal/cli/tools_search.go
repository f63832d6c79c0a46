package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/name"
)

// maxFound is the most tools that a search returns, as for a model.
const maxFound = 50

type toolsSearchOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Behind  func(pattern string, oldest time.Time)

	Query         host.SearchQuery
	JSON, Refresh bool
	Wait          time.Duration
}

func newCmdToolsSearch(f *Factory, runF func(context.Context, *toolsSearchOptions) error) *cobra.Command {
	opts := &toolsSearchOptions{Streams: f.Streams, Host: f.open, Behind: f.refreshBehind}
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools by what they do, or by name",
		Long: `Find tools by what they do, or by name, as a model finds them with tool_search. The best
matches come first; tools with exposure hidden are never found.

The query is in words, in several languages. Names of tools, separated by commas, find
these tools. Like 'tools list', a search uses snapshots of what servers listed within
the last day. stderr names the servers whose tools are missing.`,
		Example: "  collet tools search 'create a pull request'\n  collet tools search read file --server files --json",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usagef("the QUERY is missing: say in a few words what the tool should do")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Query.Query = strings.Join(args, " ")
			switch {
			case cmd.Flags().Changed("limit") && (opts.Query.Limit < 1 || opts.Query.Limit > maxFound):
				return usagef("--limit %d: it must be from 1 to %d", opts.Query.Limit, maxFound)
			case strings.ContainsAny(opts.Query.Server, "*?/"):
				return usagef("--server %s: it is the name of one server", opts.Query.Server)
			case opts.Wait <= 0:
				return usagef("--wait %s: it must be longer than 0s", opts.Wait)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return toolsSearchRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Query.Server, "server", "", "search only this `SERVER`, and start no other")
	flags.IntVar(&opts.Query.Limit, "limit", 0, "find at most this many tools (default 5)")
	flags.BoolVar(&opts.JSON, "json", false, `print {"tools":[...],"total":N,"pending":[...]}`)
	flags.BoolVar(&opts.Refresh, "refresh", false, "ask the servers again instead of using snapshots")
	flags.DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	completeFlag(cmd, "server", f.complete(func(_ context.Context, h openHost, _ *cobra.Command, _ []string, word string) *candidates {
		c := nothing()
		addServers(c, h, word, "")
		return c
	}))
	completeFlag(cmd, "limit", words())
	completeFlag(cmd, "wait", words())
	return cmd
}

func toolsSearchRun(ctx context.Context, opts *toolsSearchOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, s := range h.Servers() { // as tool_search has it
		if name.SameServer(s.Name, opts.Query.Server) {
			opts.Query.Server = s.Name
		}
	}
	list, err := awaitTools(ctx, h, opts.Streams, host.Query{Pattern: opts.Query.Server, Wait: opts.Wait, Refresh: opts.Refresh, Recall: true}, opts.JSON)
	if err != nil {
		return err
	}
	opts.Behind(opts.Query.Server, oldest(list))
	found, err := h.Search(ctx, opts.Query)
	if err != nil {
		return err
	}
	if opts.JSON {
		err = printJSON(opts.Streams, withStale(found, list))
	} else if err = printFound(opts.Streams, gjson.ParseBytes(found)); err == nil {
		tellStale(opts.Streams, list)
	}
	if err != nil {
		return err
	}
	return quiet(tellMissing(opts.Streams, list).code())
}

// awaitTools waits for the servers of a query, with a spinner where a person looks.
func awaitTools(ctx context.Context, h catalog, s *terminal.Streams, q host.Query, silent bool) (*host.Listing, error) {
	var spinner *terminal.Spinner
	if !silent {
		spinner = s.Spin("waiting for servers")
	}
	defer spinner.Stop()
	return h.Tools(ctx, q)
}

func printFound(s *terminal.Streams, found gjson.Result) error {
	var rows [][]string
	found.Get("tools").ForEach(func(_, t gjson.Result) bool {
		line, _, _ := strings.Cut(strings.TrimSpace(t.Get("description").String()), "\n")
		rows = append(rows, []string{t.Get("name").String(), t.Get("exposure").String(), strings.TrimSpace(line)})
		return true
	})
	if len(rows) == 0 {
		s.Note("collet: nothing found")
		return nil
	}
	if err := s.Table([]string{"NAME", "EXPOSURE", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	if more := int(found.Get("total").Int()) - len(rows); more > 0 {
		s.Note("collet: %d more match; --limit shows more", more)
	}
	return nil
}
