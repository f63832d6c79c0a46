package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// shells have a completion script, each with the line that loads it for good.
var shells = []struct{ name, install string }{
	{"bash", "collet completion bash > ~/.local/share/bash-completion/completions/collet"},
	{"zsh", `collet completion zsh > "${fpath[1]}/_collet"`},
	{"fish", "collet completion fish > ~/.config/fish/completions/collet.fish"},
	{"powershell", "collet completion powershell >> $PROFILE"},
}

type completionOptions struct {
	Streams *terminal.Streams
	Shell   string
	// Script writes the script of Shell.
	Script func(io.Writer) error
}

func newCmdCompletion(f *Factory, runF func(context.Context, *completionOptions) error) *cobra.Command {
	opts := &completionOptions{Streams: f.Streams}
	long := `Print the script with which a shell completes collet's commands, servers, tools,
arguments and values. To load it in every new shell:

`
	var names []cobra.Completion
	for _, s := range shells {
		long += fmt.Sprintf("  %-11s %s\n", s.name, s.install)
		names = append(names, s.name)
	}
	long += `
bash needs its bash-completion package, and zsh needs "autoload -U compinit; compinit"
in ~/.zshrc. To complete a tool or its arguments, collet starts the one server that the
word names, and waits at most two seconds for it.`
	return &cobra.Command{
		Use:               "completion SHELL",
		Short:             "Print the completion script of bash, zsh, fish or powershell",
		Long:              long,
		Example:           "  source <(collet completion bash)\n  collet completion fish | source",
		Args:              exactly(1, "SHELL, one of bash, zsh, fish, powershell,"),
		ValidArgsFunction: firstOnly(cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			opts.Shell = args[0]
			switch opts.Shell {
			case "bash":
				opts.Script = func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }
			case "zsh":
				opts.Script = root.GenZshCompletion
			case "fish":
				opts.Script = func(w io.Writer) error { return root.GenFishCompletion(w, true) }
			case "powershell":
				opts.Script = root.GenPowerShellCompletionWithDesc
			default:
				return usagef("no completion for %q: SHELL must be bash, zsh, fish or powershell", opts.Shell)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return opts.Script(opts.Streams.Out)
		},
	}
}

// firstOnly completes a command's only argument.
func firstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}

// completeFlag registers what follows a flag.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not there: a slip in this package
	}
}

// words completes one of a few fixed words, each "word\twhat it means".
func words(list ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}
