package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
)

// A program without a configuration of its own finds the person's, and a
// project's only once it is trusted.
func TestDiscover(t *testing.T) {
	root := t.TempDir()
	write := func(dir, text string) string {
		path := filepath.Join(root, dir, "mcp.toml")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	user := write("user", "[servers.u]\nplugin='hello'\n[servers.off]\nplugin='hello'\nenabled=false\n")
	write("repo", "[servers.p]\nplugin='hello'\n[servers.off]\nenabled=true\n[servers.u]\nenabled=false\n")
	names := func(found *host.Discovery) string {
		opt := options(t, "")
		opt.ConfigFiles, opt.Layers = nil, found.Sources()
		h, err := host.Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		var out []string
		for _, s := range h.Servers() {
			out = append(out, s.Name+" "+s.State)
		}
		return strings.Join(out, ", ")
	}
	places := host.Places{UserFile: user, Dir: filepath.Join(root, "repo"), StateDir: filepath.Join(root, "state")}
	found := host.Discover(places)
	if got := names(found); got != "off disabled, u idle" || found.Ignored() == nil {
		t.Errorf("before it is trusted: %s", got)
	}
	if err := found.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	const trusted = "off idle, p idle, u disabled"
	if got := names(found); got != trusted {
		t.Errorf("right after: %s", got)
	}
	if found := host.Discover(places); names(found) != trusted || found.Ignored() != nil {
		t.Errorf("the next time: %s", names(found))
	}

	opt := options(t, "")
	opt.Layers = found.Sources()
	if _, err := host.Open(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "exclude") {
		t.Errorf("files and layers: %v", err)
	}
}
