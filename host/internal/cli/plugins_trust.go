package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/name"
)

type pluginsTrustOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)

	Name string
	Yes  bool
	Wait time.Duration
}

func newCmdPluginsTrust(f *Factory, runF func(context.Context, *pluginsTrustOptions) error) *cobra.Command {
	opts := &pluginsTrustOptions{Streams: f.Streams, Host: f.openOwn}
	cmd := &cobra.Command{
		Use:   "trust NAME|PATH",
		Short: "Show what changed in a plugin or a server's tools, and accept it",
		Long: `Show what differs from what you accepted before, and accept it. If NAME or PATH is a
plugin, this covers its file and the tools of its servers. If NAME is a server, it
covers the server's plugin and tools. The servers are started for this, their plugins
only after you have accepted them.`,
		Example:           "  collet plugins trust github\n  collet plugins trust ./bin/collet-plugin-acme --yes",
		Args:              exactly(1, "the NAME of a plugin or a server, or a plugin's PATH,"),
		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsTrustRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Yes, "yes", false, "accept without asking")
	cmd.Flags().DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	return cmd
}

func pluginsTrustRun(ctx context.Context, opts *pluginsTrustOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	plugins, servers, err := opts.meant(ctx, h)
	if err != nil {
		return err
	}
	accepted := 0
	for i := range plugins {
		p := &plugins[i]
		if p.Error != "" {
			return exitf(pluginCode(p), "plugin %s: %s", visible(p.Name), visible(p.Error))
		}
		if p.State != host.PluginChanged && p.State != host.PluginUnpinned {
			continue
		}
		if err := opts.show(pluginChange(p)); err != nil {
			return err
		}
		if p.Writers != "" {
			opts.Streams.Note("collet: %s", visible(p.Writers))
		}
		if err := opts.ask(ctx, "Execute this file from now on? [y/N] "); err != nil {
			return err
		}
		if err := h.AcceptPlugin(ctx, p); err != nil {
			return exitf(exitConfiguration, "%v", err)
		}
		accepted++
		opts.Streams.Note("collet: the plugin %s is pinned as it is now", visible(p.Name))
	}
	spinner := opts.Streams.Spin("waiting for servers")
	reviews, err := h.ReviewTools(ctx, servers, opts.Wait)
	spinner.Stop()
	if err != nil {
		return err
	}
	failed := exitOK
	for i := range reviews {
		t := &reviews[i]
		if t.Error != "" {
			opts.Streams.Note("collet: %s: its tools were not checked: %s", visible(t.Server), t.Error)
			failed = worse(failed, toolPinsCode(t))
			continue
		}
		if len(t.Rewritten) == 0 {
			continue
		}
		if err := opts.show(toolChanges(t)); err != nil {
			return err
		}
		if err := opts.ask(ctx, fmt.Sprintf("Accept %s of %s as they are now? [y/N] ", count(len(t.Rewritten), "tool"), visible(t.Server))); err != nil {
			return err
		}
		if err := h.AcceptTools(ctx, t, t.Rewritten); err != nil {
			return exitf(exitConfiguration, "%v", err)
		}
		accepted++
		opts.Streams.Note("collet: %s of %s are accepted as they are now", count(len(t.Rewritten), "tool"), visible(t.Server))
	}
	if accepted == 0 && failed == exitOK {
		opts.Streams.Note("collet: nothing about %s has changed since it was accepted", visible(opts.Name))
	}
	return quiet(failed)
}

// meant are the plugins and the servers that the name or path stands for.
func (opts *pluginsTrustOptions) meant(ctx context.Context, h openHost) (plugins []host.Plugin, servers []string, err error) {
	all, err := h.Plugins(ctx)
	if err != nil {
		return nil, nil, err
	}
	path, _ := filepath.Abs(opts.Name)
	var names []string
	for _, p := range all {
		names = slices.Concat(names, []string{p.Name}, p.Servers, p.Hooks)
		switch {
		case slices.Contains(p.Servers, opts.Name):
			servers = append(servers, opts.Name)
		case slices.Contains(p.Hooks, opts.Name):
		case p.Name == opts.Name, p.Path != "" && p.Path == path:
			servers = append(servers, p.Servers...)
		default:
			continue
		}
		plugins = append(plugins, p)
	}
	slices.Sort(servers)
	servers = slices.Compact(servers)
	switch {
	case len(plugins) == 0:
		message := "no plugin and no enabled server is called " + visible(opts.Name)
		if near := name.Near(opts.Name, names, 3); len(near) > 0 {
			message += "; did you mean " + visible(strings.Join(near, ", ")) + "?"
		}
		return nil, nil, exitf(exitNotFound, "%s", message)
	case len(servers) == 0 && plugins[0].State == "":
		return nil, nil, exitf(exitNotFound, "no server uses the plugin %s, so there is nothing to pin: it is pinned when a server that uses it starts", visible(opts.Name))
	}
	return plugins, servers, nil
}

func (opts *pluginsTrustOptions) show(text string) error {
	_, err := fmt.Fprint(opts.Streams.Out, opts.Streams.Text(text))
	return err
}

// ask is nil when the person agrees.
func (opts *pluginsTrustOptions) ask(ctx context.Context, question string) error {
	if opts.Yes {
		return nil
	}
	if !opts.Streams.InTerminal || !opts.Streams.ErrTerminal {
		return exitf(exitAuth, "it is not accepted: there is nobody to ask; --yes accepts it without asking")
	}
	answer, err := confirm(ctx, opts.Streams.In, opts.Streams.Err, question)
	if err == nil && answer != replyYes {
		err = exitf(exitAuth, "it is not accepted")
	}
	return err
}

// pluginChange tells how a plugin's file differs from what was accepted.
func pluginChange(p *host.Plugin) string {
	path := p.Path
	if p.Target != "" {
		path += " -> " + p.Target
	}
	was := strings.Join(p.Pins, " or ")
	return fmt.Sprintf("plugin   %s\nfile     %s\nservers  %s\nwas      %s\nis now   %s\n",
		terminal.Line(p.Name), terminal.Line(path), strings.Join(append(p.Servers, p.Hooks...), ", "), cmp.Or(was, "not pinned"), p.SHA256)
}

// toolChanges tells which tools of a server are something else now, and what.
func toolChanges(t *host.ToolPins) string {
	var b strings.Builder
	for _, n := range t.Rewritten {
		fmt.Fprintf(&b, "~ %s\n", terminal.Line(t.Server+"/"+n))
		if is := t.Is[n]; is != nil {
			b.WriteString(definitionChange(t.Was[n], is))
		}
	}
	return b.String()
}

// definitionChange shows the lines in which two definitions differ, or all of the
// second one when what was there before is not known.
func definitionChange(was, is json.RawMessage) string {
	_, text, _ := strings.Cut(differences("x", indented(was), indented(is)), "@@\n")
	return text
}

func indented(definition json.RawMessage) []byte {
	var b bytes.Buffer
	if definition == nil || json.Indent(&b, definition, "", "  ") != nil {
		return nil
	}
	return append(b.Bytes(), '\n')
}

// pluginCode is the exit code for a plugin of which nothing is known.
func pluginCode(p *host.Plugin) int {
	if p.Path == "" {
		return exitUnreachable
	}
	return exitAuth // its file is there
}

// toolPinsCode is the exit code for tools of which nothing is known.
func toolPinsCode(t *host.ToolPins) int {
	if t.Failure != nil {
		return failureCode(t.Failure)
	}
	return exitConfiguration
}
