package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/scaffold"
)

// sdkDirVariable names a checkout of the SDK, here and in the Makefile of a new plugin.
const sdkDirVariable = "COLLET_SDK_DIR"

type pluginsNewOptions struct {
	Streams *terminal.Streams

	Name        string
	Kinds       []string // the flags among tools, mcp, command and hook that were given
	Tools, Hook bool
	MCP         string
	Command     string
	Arguments   []string // of Command, behind --
	Dir, SDKDir string
}

func newCmdPluginsNew(f *Factory, runF func(context.Context, *pluginsNewOptions) error) *cobra.Command {
	opts := &pluginsNewOptions{Streams: f.Streams, SDKDir: os.Getenv(sdkDirVariable)}
	cmd := &cobra.Command{
		Use:   "new NAME [--tools | --mcp URL | --command PROGRAM [-- ARGS] | --hook]",
		Short: "Create the project of a new plugin",
		Long: `Create the project of a new plugin: a working Go program, its tests, a transcript of
its answers, a Makefile, and the files that release it. 'make test' in the project
checks the plugin against the contract.

The directory is collet-plugin-NAME, or --dir; it must be missing or empty. With
--sdk-dir or ` + sdkDirVariable + `, the plugin is built with that checkout of collet, or
of its sdk/, instead of the released SDK. Nothing is fetched and nothing is run.`,
		Example: `  collet plugins new weather
  collet plugins new docs --mcp https://learn.microsoft.com/api/mcp
  collet plugins new files --command npx -- -y @modelcontextprotocol/server-filesystem /tmp
  collet plugins new quiet --hook --dir ~/src/quiet`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				return exactly(1, "NAME")(cmd, args)
			}
			if err := exactly(1, "NAME")(cmd, args[:dash]); err != nil {
				return err
			}
			if !cmd.Flags().Changed("command") {
				return usagef("unexpected argument %q: only --command takes arguments after --", strings.Join(args[dash:], " "))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name, opts.Arguments = args[0], args[1:]
			for _, kind := range []string{"tools", "mcp", "command", "hook"} {
				if cmd.Flags().Changed(kind) {
					opts.Kinds = append(opts.Kinds, kind)
				}
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsNewRun(opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Tools, "tools", false, "create an adapter with tools of its own (default)")
	flags.StringVar(&opts.MCP, "mcp", "", "create an adapter for the MCP server at this URL")
	flags.StringVar(&opts.Command, "command", "", "create an adapter for the MCP server that this program runs; its arguments follow after --")
	flags.BoolVar(&opts.Hook, "hook", false, "create a hook, which is asked about tool calls")
	flags.StringVar(&opts.Dir, "dir", "", "create the project in this directory (default collet-plugin-NAME)")
	flags.StringVar(&opts.SDKDir, "sdk-dir", opts.SDKDir, "build with this checkout of collet or its sdk/ (default $"+sdkDirVariable+")")
	flags.Lookup("sdk-dir").DefValue = ""
	cmd.MarkFlagDirname("dir")
	cmd.MarkFlagDirname("sdk-dir")
	return cmd
}

func pluginsNewRun(opts *pluginsNewOptions) error {
	plan, err := opts.plan()
	if err != nil {
		return err
	}
	files, err := plan.Files()
	if err != nil {
		return usagef("%v", err)
	}
	dir := opts.Dir
	if dir == "" {
		dir = plan.Project()
	}
	if err := scaffold.Write(dir, files); err != nil {
		return usagef("%v", err)
	}
	if _, err := fmt.Fprintln(opts.Streams.Out, opts.Streams.Text(dir)); err != nil {
		return err
	}
	next := "make test"
	if plan.SDK == "" {
		next += "    # fetches the newest release of the SDK first"
	}
	opts.Streams.Note("collet: wrote %d files; next:\n  cd %s\n  %s", len(files), visible(dir), next)
	return nil
}

// plan is what the flags say.
func (opts *pluginsNewOptions) plan() (*scaffold.Plan, error) {
	plan := &scaffold.Plan{Name: opts.Name, Kind: scaffold.Tools}
	if len(opts.Kinds) > 1 {
		return nil, usagef("--%s exclude each other: a plugin is created as one kind", strings.Join(opts.Kinds, " and --"))
	}
	switch {
	case opts.Hook:
		plan.Kind = scaffold.Hook
	case slices.Contains(opts.Kinds, "mcp"):
		plan.Kind, plan.URL = scaffold.URL, opts.MCP
	case slices.Contains(opts.Kinds, "command"):
		words, err := opts.words()
		if err != nil {
			return nil, err
		}
		plan.Kind, plan.Command = scaffold.Command, words
	}
	if err := plan.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	if opts.SDKDir != "" {
		var err error
		if plan.SDK, err = scaffold.FindSDK(opts.SDKDir); err != nil {
			return nil, usagef("%v", err)
		}
	}
	return plan, nil
}

// words are the program and its arguments. A command line in one string is taken
// apart at its spaces where that cannot be wrong.
func (opts *pluginsNewOptions) words() ([]string, error) {
	words := []string{opts.Command}
	if _, err := os.Stat(opts.Command); err != nil && strings.ContainsAny(opts.Command, " \t") {
		if strings.ContainsAny(opts.Command, "\"'\\`$&|;<>(){}*?") {
			return nil, usagef("--command %q is a line for a shell: give the program alone, and its arguments behind --, as in --command npx -- -y server", opts.Command)
		}
		words = strings.Fields(opts.Command)
	}
	return append(words, opts.Arguments...), nil
}
