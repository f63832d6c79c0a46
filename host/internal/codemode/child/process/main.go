// Command process is the process of a script and nothing else. Tests start it in the
// place of themselves: with the race detector in it the engine takes minutes. It is
// never shipped.
package main

import (
	"os"

	"github.com/collet-dev/collet/host/internal/codemode/child"
)

func main() { os.Exit(child.Main()) }
