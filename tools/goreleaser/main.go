// Command goreleaser reads a .goreleaser.yaml as goreleaser itself does, strictly. All
// of goreleaser takes minutes to build, its own reading of its files seconds.
//
// It never builds or publishes anything.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: goreleaser FILE")
		os.Exit(2)
	}
	p, err := config.Load(os.Args[1])
	if err == nil && len(p.Builds) == 0 {
		err = fmt.Errorf("it builds nothing")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
