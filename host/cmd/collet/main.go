// Command collet reaches the tools of MCP servers from a shell, a script or a
// program.
package main

import (
	"os"

	"github.com/collet-dev/collet/host/internal/cli"
)

// version is set by the linker (-X main.version=v1.2.3).
var version = "dev"

func main() { os.Exit(cli.Main(version)) }
