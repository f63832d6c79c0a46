package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// row is one figure, as it is shown.
type row struct{ figure, floor, collet, ratio, target, met string }

// groups are the parts of the results, in their order, each with the figures (-only)
// it is made of.
var groups = []struct {
	title   string
	figures []string
}{
	{"A command", []string{"cold", "running"}},
	{"A call", []string{"warm", "throughput", "large", "http", "allocations"}},
	{"Servers", []string{"many", "kill"}},
	{"Memory", []string{"growth", "pss", "front-idle", "front-sessions"}},
	{"collet serve", []string{"front-warm", "front-throughput", "front-large", "front-list", "front-dead"}},
	{"Scripts", []string{"codemode"}},
	{"Tool search", []string{"search"}},
}

// results are the figures of one run.
type results struct {
	machine string
	commit  string
	rows    map[string][]row // by the name of -only
}

// markdown is the page of the results. It fails when a figure is missing: part of a
// run is no result.
func (r *results) markdown() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Results\n\nWritten by `make bench`; [README.md](README.md) says what each figure and its floor are.\n\n- %s\n- %s\n", r.machine, r.commit)
	met, missed := 0, []string{}
	for name, rows := range r.rows {
		if !slices.Contains(figures(), name) {
			return nil, fmt.Errorf("%s belongs to no group of the results", name)
		}
		for _, f := range rows {
			switch f.met {
			case "yes":
				met++
			case "NO":
				missed = append(missed, f.figure)
			}
		}
	}
	slices.Sort(missed)
	fmt.Fprintf(&b, "- %d of %d targets met", met, met+len(missed))
	if len(missed) > 0 {
		fmt.Fprintf(&b, "; missed: %s", strings.Join(missed, "; "))
	}
	b.WriteString("\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| figure | floor | collet | ratio | target | met |\n|---|---|---|---|---|---|\n", g.title)
		for _, name := range g.figures {
			if len(r.rows[name]) == 0 {
				return nil, fmt.Errorf("%s was not measured: results are written of a whole run on Linux", name)
			}
			for _, f := range r.rows[name] {
				cells := []string{f.figure, f.floor, f.collet, f.ratio, f.target, f.met}
				for i, c := range cells {
					cells[i] = strings.ReplaceAll(c, "|", `\|`)
				}
				fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	return b.Bytes(), nil
}

// figures are all that -only knows.
func figures() []string {
	var all []string
	for _, g := range groups {
		all = append(all, g.figures...)
	}
	return all
}
