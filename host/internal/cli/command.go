package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// Command is the tree of all commands, for what describes them. Nothing of it is run.
func Command() *cobra.Command {
	streams := &terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	return newCmdRoot(New(streams, func(string) string { return "" }, ""))
}
