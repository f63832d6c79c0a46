package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// Commands are the words of every command there is, the root's "" among them.
func Commands() [][]string {
	f := New(&terminal.Streams{}, func(string) string { return "" }, "test")
	root := newCmdRoot(f)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var all [][]string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		all = append(all, strings.Fields(cmd.CommandPath())[1:])
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
	return all
}
