package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	repository = "github.com/collet-dev/collet/"
	root       = "../../.." // of the repository, from this directory
)

// pkg is what go list says of a package; import paths of this repository are
// relative to it.
type pkg struct {
	ImportPath, Dir, Doc string
	GoFiles              []string
	Imports, Deps        []string
	TestImports          []string
	XTestImports         []string
}

// packages returns every package of the workspace once for each system it is
// built on, because imports differ.
var packages = sync.OnceValues(func() ([]pkg, error) {
	modules, err := workspace()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, m := range modules {
			list, err := list(filepath.Join(root, m), goos)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	return all, nil
})

// workspace returns the directories of go.work.
func workspace() ([]string, error) {
	cmd := exec.Command("go", "work", "edit", "-json", filepath.Join(root, "go.work"))
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(out, &work); err != nil {
		return nil, err
	}
	var dirs []string
	for _, u := range work.Use {
		dirs = append(dirs, u.DiskPath)
	}
	return dirs, nil
}

func list(dir, goos string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, repository)
		for _, imports := range [][]string{p.Imports, p.Deps, p.TestImports, p.XTestImports} {
			for i := range imports {
				imports[i] = strings.TrimPrefix(imports[i], repository)
			}
		}
		list = append(list, p)
	}
}

func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, errors.New(strings.Join(cmd.Args, " ") + ": " + string(exit.Stderr))
	}
	return out, err
}

func listed(t *testing.T) []pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3*len(allowed)/2 { // a list that is empty breaks no rule
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

// ours says whether an import path, relative to the repository, is of it.
func ours(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return top == "host" || top == "sdk" || top == "plugins" || top == "bench" || top == "attest"
}

// within says whether path is parent or lies below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// Imports inside the repository are those of the table, no more and no less.
func TestImports(t *testing.T) {
	found := map[string]map[string]bool{}
	for _, p := range listed(t) {
		if found[p.ImportPath] == nil {
			found[p.ImportPath] = map[string]bool{}
		}
		for _, path := range p.Imports {
			if ours(path) {
				found[p.ImportPath][path] = true
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(found)) {
		if _, known := allowed[from]; !known {
			entry := fmt.Sprintf("\t%q: {\n", from)
			for _, to := range slices.Sorted(maps.Keys(found[from])) {
				entry += fmt.Sprintf("\t\t%q: \"the reason\",\n", to)
			}
			t.Errorf("package %s is new; when its place and its imports are right, add to allowed in rules_test.go:\n%s\t},", from, entry)
			continue
		}
		for _, to := range slices.Sorted(maps.Keys(found[from])) {
			if allowed[from][to] == "" {
				t.Errorf("%s must not import %s; when there is a good reason, add to its entry in rules_test.go:\n\t%q: \"the reason\",", from, to, to)
			}
		}
	}
	for from, edges := range allowed {
		if found[from] == nil {
			t.Errorf("there is no package %s: remove its entry from rules_test.go", from)
			continue
		}
		for to := range edges {
			if !found[from][to] {
				t.Errorf("%s does not import %s: remove the line from rules_test.go", from, to)
			}
		}
	}
}

// The rules that hold for every package, whatever the table says.
func TestEveryone(t *testing.T) {
	for _, p := range listed(t) {
		for _, fault := range faults(p) {
			t.Error(fault)
		}
	}
}

// faults are the rules for everyone that a package breaks.
func faults(p pkg) []string {
	var faults []string
	fault := func(path, why string) {
		faults = append(faults, p.ImportPath+" imports "+path+": "+why)
	}
	from := p.ImportPath
	for _, path := range p.Imports {
		for name, rule := range restricted {
			if within(path, name) && !slices.ContainsFunc(rule.importers, func(importer string) bool {
				tree, below := strings.CutSuffix(importer, "/...")
				return from == tree || below && within(from, tree)
			}) {
				fault(path, rule.why)
			}
		}
		switch {
		case within(path, "sdk/adapterpb") && from != "host/internal/server" && !within(from, "sdk") && !within(from, "bench/internal"):
			fault(path, "the contract is spoken by host/internal/server and the SDK alone, and by floors")
		case path == "host/internal/server" && within(from, "host/internal/front"):
			fault(path, "a front goes through the pipeline")
		case within(path, "host/internal/cli") && !within(from, "host/internal/cli") && from != "host/cmd/collet" && from != "host/cmd/pages":
			fault(path, "the CLI is imported by its main package alone, and by what describes it")
		}
	}
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if within(path, "host") && !within(from, "host") && !within(from, "bench") {
			fault(path, "plugins and the SDK know nothing of the host, not even in tests")
		}
	}
	return faults
}

// The rules for everyone can be broken, which no package that passes shows.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		from, to string
		fault    bool
	}{
		{"sdk/launch", "github.com/hashicorp/go-plugin/runner", false},
		{"sdk/mcp", "github.com/hashicorp/go-plugin", true},
		{"host/internal/server", "github.com/hashicorp/go-plugin/runner", true},
		{"host/internal/schema", "github.com/santhosh-tekuri/jsonschema/v5", false},
		{"host/internal/catalog", "github.com/santhosh-tekuri/jsonschema/v5", true},
		{"host/internal/cli/terminal", "golang.org/x/term", false},
		{"host/internal/server", "github.com/adrg/xdg", true},
		{"host/internal/server", "sdk/adapterpb/v1", false},
		{"host/internal/hub", "sdk/adapterpb/v1", true},
		{"plugins/mcp", "sdk/adapterpb/v1", true},
		{"bench/internal/bare", "sdk/adapterpb/v1", false},
		{"bench", "sdk/adapterpb/v1", true},
		{"plugins/mcp", "host", true},
		{"sdk/mcp", "host/internal/name", true},
		{"host/internal/front/mcp", "host/internal/server", true},
		{"host/internal/hub", "host/internal/server", false},
		{"host", "host/internal/cli", true},
		{"host/cmd/collet", "host/internal/cli", false},
		{"host/internal/cli", "host/internal/cli/terminal", false},
	} {
		if got := faults(pkg{ImportPath: test.from, Imports: []string{test.to}}); (len(got) > 0) != test.fault {
			t.Errorf("%s imports %s: %q, want a fault: %v", test.from, test.to, got, test.fault)
		}
	}
	if len(faults(pkg{ImportPath: "plugins/mcp", XTestImports: []string{"host"}})) == 0 {
		t.Error("a plugin's tests may import the host")
	}
}

// Pure packages do no I/O, but config reads files.
func TestPure(t *testing.T) {
	for _, p := range listed(t) {
		if !slices.Contains(pure, p.ImportPath) {
			continue
		}
		for _, path := range p.Deps {
			if slices.Contains(impure, path) {
				t.Errorf("%s reaches %s: it does no I/O", p.ImportPath, path)
			}
		}
		if slices.Contains(p.Imports, "os") && !slices.Contains(withFiles, p.ImportPath) {
			t.Errorf("%s imports os: it does no I/O", p.ImportPath)
		}
	}
}
