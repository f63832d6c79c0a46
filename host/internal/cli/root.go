package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Run runs one command line, without the program's name, and returns its exit
// code. ctx is canceled by Ctrl-C.
func (f *Factory) Run(ctx context.Context, args []string) int {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		f.Streams.Err = io.Discard // a shell that completes a word shows no logs in between
	}
	root := newCmdRoot(f)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil { // help, for one, does not look at what became of its text
		err = f.Streams.Lost()
	}
	f.report(cmd, args, err)
	return exitCode(err)
}

func newCmdRoot(f *Factory) *cobra.Command {
	root := group("collet <command>", "Reach the tools of MCP servers from a shell or a script", "",
		newCmdTools(f), newCmdRun(f, nil), newCmdTypes(f, nil), newCmdEnrich(f, nil), newCmdServe(f, nil), newCmdDaemon(f), newCmdConnect(f, nil), newCmdInstructions(f, nil), newCmdServers(f), newCmdAuth(f), newCmdPlugins(f), newCmdResults(f),
		newCmdConfig(f), newCmdTrust(f, nil), newCmdConsent(f), newCmdDoctor(f, nil), newCmdRecord(f, nil),
		newCmdCompletion(f, nil), newCmdVersion(f, nil))
	root.Long = `collet lists and calls the tools of the servers in mcp.toml. It reaches each server
through an adapter process of its own.

Results go to stdout, everything else to stderr.

Exit codes: 0 ok; 1 the tool says it failed; 2 usage or invalid arguments;
3 configuration; 4 the server cannot be reached or failed; 5 a credential, a
consent or trust is missing; 6 timeout; 7 the result is invalid or too large;
8 no such tool or server; 130 canceled.`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetUsageFunc(usage)
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%v", err) })
	flags := root.PersistentFlags()
	flags.StringVar(&f.configFile, "config", "", "the mcp.toml to use (default: $COLLET_CONFIG, else your own and the project's)")
	flags.StringVar(&f.logLevel, "log-level", "", "what collet logs to stderr: debug, info, warn or error (default: log_level of mcp.toml, else error)")
	flags.BoolVar(&f.noColor, "no-color", false, "no colors or other styles on a terminal (like NO_COLOR)")
	if err := root.MarkPersistentFlagFilename("config", "toml"); err != nil {
		panic(err)
	}
	completeFlag(root, "log-level", words("debug", "info", "warn", "error"))
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if f.noColor {
			f.Streams.Color = false
		}
		if word := f.Getenv("COLLET_DAEMON"); word != "" && word != "auto" && word != "off" {
			return exitf(exitConfiguration, "COLLET_DAEMON is %q; it can be auto or off", word)
		}
		_, err := logLevel(f.logLevel)
		return err
	}
	return root
}

// group is a command that only holds others. cobra by itself takes an unknown
// subcommand for an argument and shows help with exit 0.
func group(use, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:                        use,
		Short:                      short,
		Example:                    example,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				message += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("%s", message)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// exactly accepts n arguments, which want names.
func exactly(n int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return usagef("%s is missing", want)
		case len(args) > n:
			return usagef("unexpected argument %q", args[n])
		}
		return nil
	}
}
