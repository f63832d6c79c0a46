package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/hook"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// listWait is how long a list waits for servers that are still starting: as long
// as a person looks at a prompt without doubting it.
const listWait = 30 * time.Second

type toolsListOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Behind  func(pattern string, oldest time.Time)

	Pattern, Exposure     string
	JSON, Tokens, Refresh bool
	Wait                  time.Duration
}

func newCmdToolsList(f *Factory, runF func(context.Context, *toolsListOptions) error) *cobra.Command {
	opts := &toolsListOptions{Streams: f.Streams, Host: f.open, Behind: f.refreshBehind}
	cmd := &cobra.Command{
		Use:   "list [PATTERN]",
		Short: "List the tools of all servers",
		Long: `List the tools of all enabled servers, or those that PATTERN matches: SERVERS or
SERVERS/TOOLS, two globs such as 'github', 'github/*_issue' or '*/read_*'. Only
the servers that PATTERN matches are started.

If any collet listed a server's tools within the last day, the list shows this snapshot,
marked as such, and does not start the server. If a snapshot is more than a minute old,
a background process asks the server again, for the next list; with --refresh, this list
waits for the server instead. A call never relies on a snapshot.

stderr names the servers whose tools are missing. The exit code is 0 if any server
answered, otherwise that of the worst failure.`,
		Example: "  collet tools list\n  collet tools list github\n  collet tools list '*/read_*' --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q; quote a pattern so that the shell leaves it alone", args[1])
			}
			return nil
		},
		ValidArgsFunction: f.complete(f.completePattern),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.Pattern = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return toolsListRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Exposure, "exposure", "", "only tools with this exposure: direct, deferred, codemode or hidden (default: all but hidden)")
	flags.BoolVar(&opts.JSON, "json", false, `print {"tools":[...],"servers":[...]}`)
	flags.BoolVar(&opts.Tokens, "tokens", false, "show the tokens that the definitions cost a model, each and in total, estimated from their bytes")
	flags.BoolVar(&opts.Refresh, "refresh", false, "ask the servers again instead of using snapshots")
	flags.DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	completeFlag(cmd, "exposure", words("direct\tin the model's list", "deferred\tfound by search",
		"codemode\tfor scripts", "hidden\tfrom everybody"))
	return cmd
}

func toolsListRun(ctx context.Context, opts *toolsListOptions) error {
	only, err := parseExposure(opts.Exposure)
	if err != nil {
		return err
	}
	if opts.Wait <= 0 {
		return usagef("--wait %s: it must be longer than 0s", opts.Wait)
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	spinner := opts.spin()
	list, err := h.Tools(ctx, host.Query{Pattern: opts.Pattern, Exposure: only, Wait: opts.Wait, Refresh: opts.Refresh, Recall: true, Withheld: true, Judge: opts.JSON})
	spinner.Stop()
	if err != nil {
		return err
	}
	opts.Behind(opts.Pattern, oldest(list))
	var costs *costs
	if opts.Tokens {
		costs = estimate(h, list)
	}
	if err := printTools(opts, list, costs); err != nil {
		return err
	}
	if !opts.JSON {
		tellStale(opts.Streams, list)
	}
	tellRewritten(opts.Streams, list)
	return quiet(opts.tellServers(list, len(h.Servers())))
}

func (opts *toolsListOptions) spin() *terminal.Spinner {
	if opts.JSON {
		return nil
	}
	return opts.Streams.Spin("waiting for servers")
}

// parseExposure reads --exposure.
func parseExposure(word string) (host.Exposure, error) {
	switch word {
	case "", string(host.Direct), string(host.Deferred), string(host.Codemode), string(host.Hidden):
		return host.Exposure(word), nil
	case "codemode-deferred":
		return host.Codemode, nil
	}
	return "", usagef("--exposure %s: it must be one of direct, deferred, codemode, hidden", word)
}

func printTools(opts *toolsListOptions, list *host.Listing, costs *costs) error {
	if opts.JSON {
		elements := make([][]byte, 0, len(list.Tools))
		for i := range list.Tools {
			t := &list.Tools[i]
			elements = append(elements, toolJSON(t, func(o *rawjson.Object) {
				if costs != nil {
					o.Int("tokens", costs.tools[t.Name])
				}
			}))
		}
		var o rawjson.Object
		o.Raw("tools", rawjson.Array(elements))
		o.Raw("servers", serversJSON(list.Servers))
		if costs != nil {
			o.Raw("tokens", costs.json())
		}
		return printJSON(opts.Streams, o.Bytes())
	}
	if len(list.Tools) == 0 {
		return nil
	}
	headings := []string{"NAME", "EXPOSURE", "DESCRIPTION"}
	if costs != nil {
		headings = slices.Insert(headings, 2, "TOKENS")
	}
	rows := make([][]string, 0, len(list.Tools))
	for i := range list.Tools {
		t := &list.Tools[i]
		row := []string{t.Name, string(t.Exposure), pinMark(t) + firstLine(t)}
		if costs != nil {
			row = slices.Insert(row, 2, strconv.FormatInt(costs.tools[t.Name], 10))
		}
		rows = append(rows, row)
	}
	if err := opts.Streams.Table(headings, rows); err != nil || costs == nil {
		return err
	}
	return costs.print(opts.Streams)
}

// pinMark marks a tool that its server has rewritten.
func pinMark(t *host.Tool) string {
	switch {
	case t.Withheld:
		return "[withheld] "
	case t.Rewritten:
		return "[rewritten] "
	}
	return ""
}

// tellRewritten says on stderr which tools are not what was accepted. A mark beside
// a tool could be a part of its description.
func tellRewritten(s *terminal.Streams, list *host.Listing) {
	for i := range list.Servers {
		n, withheld := 0, false
		for j := range list.Tools {
			if t := &list.Tools[j]; t.Server == list.Servers[i].Name && (t.Rewritten || t.Withheld) {
				n, withheld = n+1, withheld || t.Withheld
			}
		}
		if n == 0 {
			continue
		}
		what := count(n, "tool") + " rewritten since accepted"
		if withheld {
			what += ", and withheld"
		}
		s.Note("collet: %s: %s; 'collet plugins trust %[1]s' shows the changes and accepts them", list.Servers[i].Name, what)
	}
}

// firstLine is what a table has room for.
func firstLine(t *host.Tool) string {
	text := strings.TrimSpace(t.Description)
	if text == "" {
		text = t.Title
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// tellServers says on stderr whose tools are missing, and why there are none at
// all, and returns the exit code. Of configured servers a list without a pattern
// leaves out those that are disabled.
func (opts *toolsListOptions) tellServers(list *host.Listing, configured int) int {
	s := opts.Streams
	if len(list.Servers) == 0 {
		if configured > 0 {
			s.Note("collet: no tools: every server is disabled")
		} else {
			s.Note("collet: no tools: no servers are configured")
		}
		return exitOK
	}
	h := tellMissing(s, list)
	if len(list.Tools) == 0 {
		s.Note("collet: no tools%s", opts.whyNone(h.answered, h.missing))
	}
	return h.code()
}

// heard is which servers a listing heard from.
type heard struct {
	answered, disabled bool // any
	missing            int
	worst              int // the exit code of the worst failure
}

// tellMissing says on stderr whose tools are missing.
func tellMissing(s *terminal.Streams, list *host.Listing) heard {
	h := heard{worst: exitOK}
	for i := range list.Servers {
		server := &list.Servers[i]
		switch {
		case server.State == "disabled":
			h.disabled = true
		case server.Error == "":
			h.answered = true
			if server.State == "degraded" && server.Failure != nil { // some tools may be missing, or their upstream is gone
				s.Note("collet: %s is degraded: %s", server.Name, reason(server.Failure))
			}
		default:
			if server.State != "misconfigured" { // that has been told with the file's problems
				s.Note("collet: %s: %s%s", server.Name, server.Error, serverAdvice(server))
			}
			h.missing++
			h.worst = worse(h.worst, serverCode(server))
		}
	}
	return h
}

// code is the exit code of what was made of the listing.
func (h heard) code() int {
	switch {
	case h.answered:
		return exitOK
	case h.disabled && h.worst == exitOK:
		return exitNotFound
	}
	return h.worst
}

// whyNone says why a list is empty.
func (opts *toolsListOptions) whyNone(answered bool, missing int) string {
	var why string
	if answered && opts.Exposure != "" {
		why = " have the exposure " + opts.Exposure
	}
	if opts.Pattern != "" {
		if why != "" {
			why += " and"
		}
		why += " match " + opts.Pattern
	}
	switch {
	case !answered && missing == 0:
		why += ": every such server is disabled"
	case missing == 1:
		why += ": a server is missing, see above"
	case missing > 1:
		why += fmt.Sprintf(": %d servers are missing, see above", missing)
	case why == "":
		why = ": the servers have none"
		if opts.Exposure == "" {
			why += ", or hide them all"
		}
	}
	return why
}

// serverCode is the exit code of a server whose tools are missing.
func serverCode(s *host.Server) int {
	switch {
	case s.State == "misconfigured":
		return exitConfiguration
	case s.Failure != nil:
		return failureCode(s.Failure)
	case s.State == "starting":
		return exitTimeout
	}
	return exitUnreachable
}

// serverAdvice says what to do about a server whose tools are missing.
func serverAdvice(s *host.Server) string {
	switch {
	case s.State == "starting": // the host has said it
		return ""
	case serverCode(s) == exitConfiguration:
		return "; see 'collet config check'"
	case s.Failure != nil && (s.Failure.Remote || s.Failure.Class == failure.AuthFailure && s.Failure.Origin == failure.OriginHost):
		return "" // of the latter nothing was started
	case s.Failure != nil && hook.Blamed(&s.Failure.Failure) != "":
		return "; see 'collet servers logs " + hookPrefix + hook.Blamed(&s.Failure.Failure) + "'"
	case s.Failure != nil && s.Failure.Unlogged:
		return ""
	}
	return "; see 'collet servers logs " + s.Name + "'"
}

// worse returns the code that comes later in severity.
func worse(a, b int) int {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}
