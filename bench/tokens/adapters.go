package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

//go:embed adapters.toml
var adapters string

// raw begins the name of a server that an adapter is made of.
const raw = "raw-"

// adapted is what all tools of the adapters cost, and of what they are made of.
func (b *bench) adapted(ctx context.Context) (map[string]*sums, error) {
	p, err := b.measure(ctx, "direct", adapters)
	if err != nil {
		return nil, err
	}
	return byServer(p.tools, b.count)
}

// reportAdapters prints the table of the adapters.
func reportAdapters(to io.Writer, all map[string]*sums) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return strings.HasPrefix(name, raw) })
	out := tabwriter.NewWriter(to, 0, 8, 1, ' ', 0)
	fmt.Fprint(out, "\n| adapter\t| tools\t| tokens\t| with what clients keep\t| its server: tools\t| tokens\t| with what clients keep\t|\n|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|\n")
	for _, name := range names {
		s := all[name]
		fmt.Fprintf(out, "| %s\t| %d\t| %s\t| %s\t| ", name, s.tools, grouped(s.tokens), grouped(s.whole))
		if of := all[raw+name]; of != nil {
			fmt.Fprintf(out, "%d\t| %s\t| %s\t|\n", of.tools, grouped(of.tokens), grouped(of.whole))
		} else {
			fmt.Fprint(out, "\t| \t| \t|\n")
		}
	}
	return out.Flush()
}
