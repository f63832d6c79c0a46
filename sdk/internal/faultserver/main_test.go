package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The package comment is the manual: it lists every fault there is.
func TestEveryFaultIsDocumented(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "package main")
	words := strings.Fields(comment)
	names := slices.Clone(switches)
	for _, f := range starts {
		names = append(names, f.name)
	}
	for _, f := range hooks {
		names = append(names, f.name)
	}
	for _, f := range shapes {
		names = append(names, f.name)
	}
	for _, f := range streams {
		names = append(names, f.name)
	}
	for name := range versionFaults {
		names = append(names, name)
	}
	for _, name := range names {
		if !slices.Contains(words, name) {
			t.Errorf("the package comment does not say what %s does", name)
		}
	}
}
