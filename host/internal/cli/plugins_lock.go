package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type pluginsLockOptions struct {
	Streams *terminal.Streams
	// Host opens a host that pins nothing by itself.
	Host func(context.Context) (openHost, error)

	Check, JSON bool
	Wait        time.Duration
}

func newCmdPluginsLock(f *Factory, runF func(context.Context, *pluginsLockOptions) error) *cobra.Command {
	opts := &pluginsLockOptions{Streams: f.Streams, Host: f.openFrozen}
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Bring mcp.lock up to date, or check that it is",
		Long: `Start the enabled servers and compare their plugins and tools with mcp.lock. New plugins
and tools are pinned, and tools that are gone are removed from it. Changes are shown but
never accepted: to accept them, use 'collet plugins trust'.

With --check nothing is written, plugins that are not pinned are not started, and the
exit code is 5 if anything differs.`,
		Example: "  collet plugins lock\n  collet plugins lock --check",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsLockRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Check, "check", false, "write nothing; exit code 5 if anything differs")
	flags.BoolVar(&opts.JSON, "json", false, `print {"ok","differences":[{"what","name","change","lock","was","now"}],"servers":[{"name","error"}],"problems":[{"file","line","server","key","message"}]}`)
	flags.DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	return cmd
}

// openFrozen is open for a host that pins nothing.
func (f *Factory) openFrozen(ctx context.Context) (openHost, error) {
	f.frozen = true
	return f.openOwn(ctx)
}

// difference is one thing in which mcp.lock and the servers differ.
type difference struct {
	What   string // plugin or tool
	Name   string // "<server>/<tool>" of a tool
	Change string // new, changed or gone
	Lock   string
	Was    string // digests of a plugin's file; empty where there are none
	Now    string
}

func pluginsLockRun(ctx context.Context, opts *pluginsLockOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	diffs, servers, hooks, err := opts.plugins(ctx, h)
	if err != nil {
		return err
	}
	if hooks > 0 && !opts.Check {
		// Without its hooks a host has other servers and tools, or none.
		h.Close()
		if h, err = opts.Host(ctx); err != nil {
			return err
		}
		defer h.Close()
		more, now, _, err := opts.plugins(ctx, h)
		if err != nil {
			return err
		}
		diffs, servers = append(diffs, more...), now
	}
	problems := h.Problems()
	var spinner *terminal.Spinner
	if !opts.JSON {
		spinner = opts.Streams.Spin("waiting for servers")
	}
	reviews, err := h.ReviewTools(ctx, servers, opts.Wait)
	spinner.Stop()
	if err != nil {
		return err
	}
	failed := exitOK
	if len(problems) > 0 {
		failed = exitConfiguration
	}
	for i := range reviews {
		t := &reviews[i]
		if t.Error != "" {
			failed = worse(failed, toolPinsCode(t))
			continue
		}
		for _, part := range []struct {
			change string
			names  []string
		}{{"new", t.New}, {"changed", t.Rewritten}, {"gone", t.Missing}} {
			for _, n := range part.names {
				diffs = append(diffs, difference{What: "tool", Name: t.Server + "/" + n, Change: part.change, Lock: t.Lock})
			}
		}
		if opts.Check {
			continue
		}
		if err := h.AcceptTools(ctx, t, t.New); err != nil {
			return exitf(exitConfiguration, "%v", err)
		}
		if err := h.ForgetTools(ctx, t, t.Missing); err != nil {
			return exitf(exitConfiguration, "%v", err)
		}
	}
	slices.SortStableFunc(diffs, func(a, b difference) int { return strings.Compare(a.Lock, b.Lock) })
	if err := opts.print(diffs, reviews, problems); err != nil {
		return err
	}
	for _, d := range diffs {
		if opts.Check || d.Change == "changed" {
			return quiet(exitAuth)
		}
	}
	return quiet(failed)
}

// plugins compares the plugins, pins the new ones unless it is a check, and returns
// the servers whose tools can be looked at, and how many of the new ones are hooks.
func (opts *pluginsLockOptions) plugins(ctx context.Context, h openHost) (diffs []difference, servers []string, hooks int, err error) {
	plugins, err := h.Plugins(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	for i := range plugins {
		p := &plugins[i]
		servers = append(servers, p.Servers...)
		if p.State == "" || p.Error != "" {
			continue // starting its servers and hooks tells why
		}
		d := difference{What: "plugin", Name: p.Name, Lock: p.Lock, Was: strings.Join(p.Pins, " or "), Now: p.SHA256}
		switch p.State {
		case host.PluginUnpinned:
			d.Change = "new"
			hooks += len(p.Hooks)
			if !opts.Check {
				if err := h.AcceptPlugin(ctx, p); err != nil {
					return nil, nil, 0, exitf(exitConfiguration, "%v", err)
				}
			}
		case host.PluginChanged:
			d.Change = "changed"
		default:
			continue
		}
		diffs = append(diffs, d)
	}
	return diffs, servers, hooks, nil
}

func (opts *pluginsLockOptions) print(diffs []difference, reviews []host.ToolPins, problems []host.Problem) error {
	if opts.JSON {
		var o rawjson.Object
		o.Bool("ok", len(diffs) == 0 && len(problems) == 0 && !anyFailed(reviews))
		o.Raw("differences", array(diffs, func(o *rawjson.Object, d *difference) {
			o.String("what", d.What)
			o.String("name", d.Name)
			o.String("change", d.Change)
			o.String("lock", d.Lock)
			o.OptionalString("was", d.Was)
			o.OptionalString("now", d.Now)
		}))
		o.Raw("servers", array(reviews, func(o *rawjson.Object, t *host.ToolPins) {
			o.String("name", t.Server)
			o.OptionalString("error", t.Error)
		}))
		o.Raw("problems", array(problems, writeProblem))
		return printJSON(opts.Streams, o.Bytes())
	}
	var b strings.Builder
	lock := ""
	for _, d := range diffs {
		if d.Lock != lock {
			lock = d.Lock
			fmt.Fprintf(&b, "%s\n", terminal.Line(lock))
		}
		sign := map[string]string{"new": "+", "changed": "~", "gone": "-"}[d.Change]
		fmt.Fprintf(&b, "  %s %s %s", sign, d.What, terminal.Line(d.Name))
		if d.What == "plugin" {
			if d.Was != "" {
				fmt.Fprintf(&b, "  %s, and is now", d.Was)
			}
			fmt.Fprintf(&b, "  %s", d.Now)
		}
		b.WriteByte('\n')
	}
	if _, err := fmt.Fprint(opts.Streams.Out, opts.Streams.Text(b.String())); err != nil {
		return err
	}
	changed := false
	for _, d := range diffs {
		changed = changed || d.Change == "changed"
	}
	for _, t := range reviews {
		if t.Error != "" {
			opts.Streams.Note("collet: %s: its tools were not checked: %s", t.Server, t.Error)
		}
	}
	switch {
	case changed:
		opts.Streams.Note("collet: '~' marks what differs from what you accepted; 'collet plugins trust NAME' shows the differences and accepts them")
	case opts.Check && len(diffs) > 0:
		opts.Streams.Note("collet: mcp.lock is not up to date; 'collet plugins lock' updates it")
	case len(problems) > 0:
		opts.Streams.Note("collet: servers and plugins that are left out because of faults in the configuration were not checked")
	case len(diffs) == 0 && !anyFailed(reviews):
		opts.Streams.Note("collet: mcp.lock is up to date")
	}
	return nil
}

func anyFailed(reviews []host.ToolPins) bool {
	for _, t := range reviews {
		if t.Error != "" {
			return true
		}
	}
	return false
}
