package scaffold

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// SDKModule is the module that plugins are written with.
const SDKModule = "github.com/collet-dev/collet/sdk"

// goVersion is what the SDK needs.
const goVersion = "1.26.0"

// requirement is a line of a go.mod that requires a module.
var requirement = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:require\s+)?([^\s()/]+\.[^\s()]*)\s+(v\S+)`) })

// FindSDK is the directory of the SDK's module in dir: dir itself, or its sdk, where
// dir is a checkout of all of collet.
func FindSDK(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, at := range []string{abs, filepath.Join(abs, "sdk")} {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && slices.Contains(strings.Split(string(text), "\n"), "module "+SDKModule) {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s is no checkout of collet's SDK: neither it nor its directory sdk has the go.mod of %s", dir, SDKModule)
}

// module is go.mod and, where the SDK is a checkout, go.sum.
//
// With a checkout everything the SDK requires is written down, as it is there: the
// project builds without asking anybody. Without one, go mod tidy has to find the
// newest release; the Makefile does.
func (p *Plan) module() ([]File, error) {
	if p.SDK == "" {
		return []File{{"go.mod", fmt.Appendf(nil, "module %s\n\ngo %s\n", p.Project(), goVersion)}}, nil
	}
	mod, err := os.ReadFile(filepath.Join(p.SDK, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the SDK: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(p.SDK, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("read the SDK: %w", err)
	}
	version := goVersion
	var required []string
	for line := range strings.Lines(string(mod)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "go "); ok {
			version = v
		}
		if m := requirement().FindStringSubmatch(line); m != nil {
			required = append(required, "\t"+m[1]+" "+m[2]+" // indirect\n")
		}
	}
	slices.Sort(required)
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\n", p.Project(), version)
	fmt.Fprintf(&b, "// A checkout on this machine; README.md says how to build with the released SDK instead.\nreplace %s => %s\n\n", SDKModule, modPath(p.SDK))
	fmt.Fprintf(&b, "require %s v0.0.0\n\nrequire (\n%s)\n", SDKModule, strings.Join(required, ""))
	return []File{{"go.mod", []byte(b.String())}, {"go.sum", sum}}, nil
}

// modPath is a path as go.mod has it: quoted where it has to be.
func modPath(path string) string {
	path = filepath.ToSlash(path)
	if strings.ContainsAny(path, " \t\"'`()[]{},") || strings.Contains(path, "//") {
		return fmt.Sprintf("%q", path)
	}
	return path
}
