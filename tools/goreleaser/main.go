// Command goreleaser reads a .goreleaser.yaml as goreleaser itself does, strictly. All
// of goreleaser takes minutes to build, its own reading of its files seconds.
//
// It never builds or publishes anything.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() { os.Exit(check(os.Args[1:], os.Stderr)) }

// check reads the file that args name, and returns the exit code: 0 when goreleaser
// would take it, 1 when it would not, 2 for wrong usage.
func check(args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: goreleaser FILE")
		return 2
	}
	p, err := config.Load(args[0])
	switch {
	case err != nil:
	case p.Version != 2: // goreleaser only warns, and then lets unknown keys pass
		err = fmt.Errorf("its version is %d, and goreleaser knows 2", p.Version)
	case len(p.Builds) == 0:
		err = errors.New("it builds nothing")
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		return 1
	}
	return 0
}
