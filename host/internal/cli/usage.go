package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage prints how a command is used, each thing once: cobra's own template
// names a group twice.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	section(&b, "Flags", cmd.LocalFlags().FlagUsages())
	section(&b, "Global flags", cmd.InheritedFlags().FlagUsages())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nRun '%s COMMAND --help' for more about a command.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// section prints flags under a title, without the [=true|false] that pflag puts
// behind every switch: nobody writes that.
func section(b *strings.Builder, title, usages string) {
	if usages == "" {
		return
	}
	const indent = len("  -h, ") // a name has no spaces, a wide gap ends what stands left
	var rows [][2]string
	width := 0
	for line := range strings.Lines(usages) {
		name, text, _ := strings.Cut(strings.TrimRight(line[indent:], "\n"), "   ")
		name = line[:indent] + strings.TrimSuffix(name, "[=true|false]")
		width = max(width, len(name))
		rows = append(rows, [2]string{name, strings.TrimLeft(text, " ")})
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s   %s\n", width, row[0], row[1])
	}
}
