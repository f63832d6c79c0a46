package architecture

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines of a file: a longer one has more than one job.
const maxLines = 450

// generated is the line that generators write by convention (go.dev/s/generatedcode).
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// A package says in its comment what its job is, and a file has one.
func TestStyle(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range listed(t) {
		people := false // some file is written by hand
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if generated.Match(b) {
				continue
			}
			people = true
			if n := bytes.Count(b, []byte("\n")); n > maxLines && !seen[path] {
				t.Errorf("%s/%s has %d lines, at most %d are allowed: split it by job", p.ImportPath, name, n, maxLines)
			}
			seen[path] = true
		}
		if people && p.Doc == "" && !seen[p.ImportPath] {
			t.Errorf("package %s has no package comment: say what its job is and what it never does", p.ImportPath)
			seen[p.ImportPath] = true
		}
	}
}

// Every module that something here needs directly has a line that says why.
func TestDependenciesAreExplained(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]string{}
	for _, p := range listed(t) {
		for _, imports := range [][]string{p.Imports, p.TestImports, p.XTestImports} {
			for _, path := range imports {
				if host, _, _ := strings.Cut(path, "/"); !strings.Contains(host, ".") || explained(string(doc), path) {
					continue
				}
				missing[path] = p.ImportPath
			}
		}
	}
	for path, from := range missing {
		t.Errorf("%s imports %s, whose module is not in docs/dependencies.md: say there why it is needed", from, path)
	}
}

// explained says whether doc has a line of a module that path belongs to, as
// `module` in back quotes.
func explained(doc, path string) bool {
	for {
		if strings.Contains(doc, "`"+path+"`") {
			return true
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
}
