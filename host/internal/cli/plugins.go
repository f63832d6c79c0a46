package cli

import "github.com/spf13/cobra"

func newCmdPlugins(f *Factory) *cobra.Command {
	return group("plugins <command>", "List, install, pin and trust plugins, check them, and write new ones",
		"  collet plugins list\n  collet plugins lock --check\n  collet plugins trust github",
		newCmdPluginsList(f, nil), newCmdPluginsLock(f, nil), newCmdPluginsTrust(f, nil),
		newCmdPluginsInstall(f, nil), newCmdPluginsUpgrade(f, nil), newCmdPluginsRemove(f, nil), newCmdPluginsPrune(f, nil), newCmdPluginsPin(f, nil),
		newCmdPluginsNew(f, nil), newCmdPluginsVerify(f, nil),
	)
}
