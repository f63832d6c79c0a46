package cli

import "github.com/spf13/cobra"

func newCmdPlugins(f *Factory) *cobra.Command {
	return group("plugins <command>", "List plugins, what servers are reached through",
		"  collet plugins list",
		newCmdPluginsList(f, nil), newCmdPluginsVerify(f, nil),
	)
}
