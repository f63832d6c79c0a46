package hub

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// told records the changes of state of all servers.
type told struct {
	mu   sync.Mutex
	said []string
}

func (x *told) changed(n string, s server.Status) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.said = append(x.said, n+" "+string(s.State))
}

// await waits until that has been said.
func (x *told) await(t *testing.T, want string) {
	t.Helper()
	for range 1000 {
		x.mu.Lock()
		ok := slices.Contains(x.said, want)
		x.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond) // a server's Changed has no channel of its own
	}
	t.Fatalf("never told: %s; %v", want, x.said)
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	parsed := func(toml string) *config.Config { return config.Parse(dir+"/mcp.toml", []byte(toml)) }
	var events told
	h := New(parsed(toml), surroundings(t, &events))
	defer h.Close(t.Context())
	alpha := h.Server("alpha")

	h.Apply(parsed(`
[servers.alpha]
plugin = "a"
timeout = "7s"
[servers.off]
plugin = "o"
[servers.zeta]
plugin = 7
[servers.new]
plugin = "n"
`))
	if want := []string{"alpha", "new", "off", "zeta"}; !slices.Equal(h.Names(), want) {
		t.Errorf("%v", h.Names())
	}
	if s := h.Server("alpha"); s != alpha || s.Settings().Timeout != 7*time.Second || s.Status().State != server.Idle {
		t.Error("alpha is another, or has the old timeout")
	}
	for _, n := range []string{"off", "new"} {
		if s := h.Server(n); s == nil || s.Status().State != server.Idle {
			t.Errorf("%s is not idle", n)
		}
		events.await(t, n+" idle")
	}
	events.await(t, "zeta stopped")
	for tool, says := range map[string]string{"zeta/x": "servers.zeta.plugin", "bad/x": "no server is called bad"} {
		if _, _, err := h.Find(t.Context(), tool); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	// Nothing starts once the hub is closed.
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	h.Apply(parsed("[servers.late]\nplugin = \"l\"\n"))
	if h.Server("late") != nil {
		t.Error("a closed hub has new servers")
	}
	if f := server.AsFailure(alpha.Ready(t.Context(), 0)); f.Class != failure.Canceled {
		t.Errorf("%+v", f)
	}
}

// Whoever asks while the configuration changes gets an answer of before or after.
func TestApplyWhileAsked(t *testing.T) {
	dir := t.TempDir()
	h := New(config.Parse(dir+"/mcp.toml", []byte(toml)), surroundings(t, &told{}))
	defer h.Close(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				for _, n := range h.Names() {
					_, _, err := h.Find(t.Context(), n+"/x")
					if err == nil {
						t.Error("found")
					}
				}
				h.Ready(t.Context(), h.Names(), false)
				h.WireNames()
			}
		})
	}
	for i := range 20 {
		text := toml
		if i%2 == 0 {
			text = "[servers.alpha]\nplugin = \"b\"\n"
		}
		h.Apply(config.Parse(dir+"/mcp.toml", []byte(text)))
	}
	wg.Wait()
}
