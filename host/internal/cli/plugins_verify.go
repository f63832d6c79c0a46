package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

type pluginsVerifyOptions struct {
	Streams *terminal.Streams

	Path                string
	Config, FaultConfig string
	Call, Large         string
	Env                 []string
	Only                []string
	Patience            int
	JSON                bool
}

func newCmdPluginsVerify(f *Factory, runF func(context.Context, *pluginsVerifyOptions) error) *cobra.Command {
	opts := &pluginsVerifyOptions{Streams: f.Streams}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a plugin, written in any language, against the contract of its kind",
		Long: `Run the plugin FILE as a host does, and also in ways that a host never would. Say for
each rule of the contract whether the plugin keeps it, why not, and what to do.

Tools are called many times. Without being told to, verify calls only tools that the
plugin declares read-only, with arguments made up from their schema; --call names
another call that it may make. ` + check.Placeholder + ` in --config becomes the URL of a fake
upstream, an MCP server over HTTP that also simulates the faults of upstreams. For a
plugin with another kind of upstream, give working settings with --config, and settings
that lead to the fake upstream with --fault-config.

The plugin gets the variables that a host would give it, an empty home, and a temporary
directory that is removed afterwards. Nothing that it starts outlives the command.

There are 22 checks for an adapter, and 13 for a hook.

The exit code is 0 if no check failed, even if some were skipped, and 1 otherwise.`,
		Example: `  collet plugins verify ./collet-plugin-hello
  collet plugins verify ./bin/collet-plugin-mcp --config '{"url":"` + check.Placeholder + `"}'
  collet plugins verify ./collet-plugin-search --config @settings.json --fault-config '{"base":"` + check.Placeholder + `"}' --call 'search={"q":"a"}'
  collet plugins verify ./collet-plugin-hello --only list-tools,events --json`,
		Args: exactly(1, "FILE"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Path = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsVerifyRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.JSON, "json", false, `print {"plugin","ok","passed","failed","skipped","checks"}`)
	// This one is the plugin's; mcp.toml has nothing to say here.
	flags.StringVar(&opts.Config, "config", "", "the plugin's settings, as JSON or @file (default {})")
	flags.StringVar(&opts.FaultConfig, "fault-config", "", "settings that lead to the fake upstream, as JSON or @file (default: --config)")
	flags.StringVar(&opts.Call, "call", "", "a call that may be made any number of times, as TOOL or TOOL=JSON")
	flags.StringVar(&opts.Large, "large", "", "a call with a result of 32 MiB or more, as TOOL or TOOL=JSON")
	flags.StringArrayVar(&opts.Env, "env", nil, "a variable for the plugin: NAME=VALUE, or NAME to pass on its value from here; can be repeated")
	flags.StringSliceVar(&opts.Only, "only", nil, "run only these checks, given by name or number")
	flags.IntVar(&opts.Patience, "patience", 1, "multiply every time limit by this, on a slow machine")
	completeFlag(cmd, "only", words(check.Names()...))
	return cmd
}

func pluginsVerifyRun(ctx context.Context, opts *pluginsVerifyOptions) error {
	opt, err := opts.options()
	if err != nil {
		return err
	}
	spinner := func(string) *terminal.Spinner { return nil }
	if !opts.JSON {
		spinner = opts.Streams.Spin
	}
	waiting := spinner("verifying " + opts.Path)
	var lost error
	opt.Done = func(o check.Outcome) {
		if opts.JSON {
			return
		}
		waiting.Stop()
		if _, err := fmt.Fprintln(opts.Streams.Out, opts.Streams.Text(o.String())); err != nil && lost == nil {
			lost = err
		}
		waiting = spinner("verifying " + opts.Path)
	}
	report, err := check.Run(ctx, opt)
	waiting.Stop()
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case err != nil:
		return usagef("%v", err)
	case lost != nil:
		return lost
	}
	if opts.JSON {
		err = printJSON(opts.Streams, verifyJSON(report))
	} else {
		_, err = fmt.Fprintln(opts.Streams.Out, opts.Streams.Text(report.Summary()))
	}
	if err != nil {
		return err
	}
	if !report.OK() {
		return quiet(exitToolError)
	}
	return nil
}

// options are the options of the checks.
func (opts *pluginsVerifyOptions) options() (check.Options, error) {
	opt := check.Options{Path: opts.Path, Only: opts.Only, Patience: opts.Patience, Compile: compiles}
	if opts.Patience < 1 {
		return opt, usagef("--patience %d: it has to be 1 or more", opts.Patience)
	}
	var err error
	if opt.Config, err = jsonOrFile("config", opts.Config); err != nil {
		return opt, err
	}
	if opt.FaultConfig, err = jsonOrFile("fault-config", opts.FaultConfig); err != nil {
		return opt, err
	}
	opt.Call, opt.Large = namedCall(opts.Call), namedCall(opts.Large)
	for _, kv := range opts.Env {
		if !strings.Contains(kv, "=") {
			value, ok := os.LookupEnv(kv)
			if !ok {
				return opt, usagef("--env %s: there is no such variable here; write NAME=VALUE", kv)
			}
			kv += "=" + value
		}
		opt.Env = append(opt.Env, kv)
	}
	return opt, nil
}

// compiles says why a host would leave a schema unchecked.
func compiles(raw json.RawMessage) error {
	if why := schema.Compile(raw).Unchecked(); why != "" {
		return errors.New(why)
	}
	return nil
}

// jsonOrFile is the value of a flag that is JSON, or @ and a file that holds it.
func jsonOrFile(flag, value string) (json.RawMessage, error) {
	name, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return json.RawMessage(value), nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("--%s: %v", flag, err)
	}
	return b, nil
}

// namedCall reads TOOL=JSON.
func namedCall(text string) check.Call {
	tool, args, _ := strings.Cut(text, "=")
	return check.Call{Tool: tool, Arguments: json.RawMessage(args)}
}

func verifyJSON(r *check.Report) []byte {
	var plugin, o rawjson.Object
	plugin.String("path", r.Path)
	plugin.OptionalString("name", r.Name)
	plugin.OptionalString("version", r.Version)
	o.Raw("plugin", plugin.Bytes())
	o.Bool("ok", r.OK())
	o.Int("passed", int64(r.Count(check.Passed)))
	o.Int("failed", int64(r.Count(check.Failed)))
	o.Int("skipped", int64(r.Count(check.Skipped)))
	o.Raw("checks", array(r.Outcomes, func(o *rawjson.Object, c *check.Outcome) {
		o.Int("number", int64(c.Number))
		o.String("name", c.Name)
		o.String("title", c.Title)
		o.String("status", string(c.Status))
		o.OptionalString("why", c.Why)
		o.OptionalString("advice", c.Advice)
		o.Int("durationMs", c.Duration.Milliseconds())
	}))
	return o.Bytes()
}
