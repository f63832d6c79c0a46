package hub

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// No server of these tests can start: no plugin is installed. What real ones do
// is tested in package host.
func parse(t *testing.T, toml string) *Hub {
	t.Helper()
	h := New(config.Parse(t.TempDir()+"/mcp.toml", []byte(toml)), surroundings(t, &told{}))
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func surroundings(t *testing.T, events *told) server.Surroundings {
	return server.Surroundings{
		Plugins:   plugins.Finder{Dirs: []string{t.TempDir()}},
		Describer: &plugins.Describer{CacheDir: t.TempDir()},
		LogDir:    t.TempDir(),
		Log:       slog.New(slog.DiscardHandler),
		Changed:   events.changed,
	}
}

const toml = `
[servers.zeta]
plugin = "z"
[servers.alpha]
plugin = "a"
[servers.off]
plugin = "o"
enabled = false
[servers.bad]
command = 7
args = 8
`

func TestNames(t *testing.T) {
	h := parse(t, toml)
	if want := []string{"alpha", "bad", "off", "zeta"}; !slices.Equal(h.Names(), want) {
		t.Errorf("%v", h.Names())
	}
	for _, n := range h.Names() {
		_, broken := h.Broken(n)
		_, off := h.Disabled(n)
		if usable := h.Server(n) != nil; broken != (n == "bad") || off != (n == "off") || usable == (broken || off) {
			t.Errorf("%s: usable %v, broken %v, off %v", n, usable, broken, off)
		}
	}
	if p, _ := h.Broken("bad"); !strings.HasSuffix(p.Key, ".command") {
		t.Errorf("the first fault is %v", p)
	}
	if where, _ := h.Disabled("off"); !strings.HasSuffix(where, "mcp.toml:8") {
		t.Errorf("disabled where: %s", where)
	}
}

func TestFindWhatIsNotThere(t *testing.T) {
	h := parse(t, toml)
	for name, c := range map[string]struct {
		class         failure.Class
		misconfigured bool
		says          string
	}{
		"alpa/x":  {failure.NotFound, false, "no server is called alpa; did you mean alpha?"},
		"alpha":   {failure.NotFound, false, "alpha is a server; its tools are called alpha/TOOL"},
		"alpa":    {failure.NotFound, false, `no tool is called "alpa"; a tool's name is SERVER/TOOL; did you mean alpha?`},
		"":        {failure.NotFound, false, "SERVER/TOOL"},
		"/x":      {failure.NotFound, false, "SERVER/TOOL"},
		"off/x":   {failure.NotFound, false, "mcp.toml:8; set enabled = true"},
		"bad/x":   {failure.InvalidArguments, true, "servers.bad.command"},
		"alpha/x": {failure.ConnectionRefused, false, "collet-plugin-a"}, // a start that fails is no not-found
	} {
		_, _, err := h.Find(t.Context(), name)
		f := server.AsFailure(err)
		if f.Class != c.class || f.Delivery != failure.NotSent || f.Misconfigured != c.misconfigured || !strings.Contains(f.Message, c.says) {
			t.Errorf("%q: %v misconfigured=%v: %s", name, f.Class, f.Misconfigured, f.Message)
		}
	}
	_, _, err := parse(t, "").Find(t.Context(), "a/b")
	if !strings.Contains(err.Error(), "no servers are configured") {
		t.Errorf("%v", err)
	}
}

func TestReadySaysWhyNot(t *testing.T) {
	h := parse(t, toml)
	fails := h.Ready(t.Context(), []string{"alpha", "bad", "off", "zeta", "nobody"}, false)
	if len(fails) != 2 || !strings.Contains(fails["alpha"].Message, "collet-plugin-a") || !strings.Contains(fails["zeta"].Message, "collet-plugin-z") {
		t.Errorf("%v", fails)
	}
	for range 2 {
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if fails := h.Ready(t.Context(), []string{"alpha"}, true); fails["alpha"] == nil || fails["alpha"].Class != failure.Canceled {
		t.Errorf("after close: %v", fails)
	}
}
