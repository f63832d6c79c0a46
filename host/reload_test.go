package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// watched is a host whose events a test waits for.
type watched struct {
	*host.Host
	file   string
	states chan string // "server state"
	lists  chan string // servers whose list changed
}

func watch(t *testing.T, toml string) *watched {
	t.Helper()
	opt := options(t, toml)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Host: h, file: opt.ConfigFiles[0], states: make(chan string, 1000), lists: make(chan string, 1000)}
	h.Subscribe(func(e host.Event) {
		switch {
		case e.ServerChanged != nil:
			w.states <- e.ServerChanged.Server + " " + e.ServerChanged.State
		case e.CatalogChanged != nil:
			w.lists <- e.CatalogChanged.Server
		}
	})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return w
}

func await(t *testing.T, from chan string, want string) {
	t.Helper()
	late := patient(t).Done()
	for {
		select {
		case got := <-from:
			if got == want {
				return
			}
		case <-late:
			t.Fatal("never came:", want)
		}
	}
}

func (w *watched) write(t *testing.T, toml string) {
	t.Helper()
	if err := os.WriteFile(w.file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) reload(t *testing.T, toml string) {
	t.Helper()
	w.write(t, toml)
	if err := w.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	h := watch(t, `
[servers.same]
plugin = "hello"
[servers.other]
plugin = "hello"
config = { greeting = "Salve" }
[servers.gone]
plugin = "hello"
[servers.later]
plugin = "hello"
`)
	for _, n := range []string{"same", "other", "gone"} {
		mustCall(t, h.Host, n+"/greet", `{"name":"x"}`)
	}
	same, other := pidOf(t, h.Host, "same"), pidOf(t, h.Host, "other")
	h.reload(t, `
[servers.same]
plugin = "hello"
timeout = "5s"
tool_exposure = { greet = "hidden" }
[servers.other]
plugin = "hello"
config = { greeting = "Ave" }
[servers.later]
plugin = "hello"
config = { greeting = "Heus" }
[servers.new]
plugin = "hello"
`)
	var names []string
	for _, s := range h.Servers() {
		names = append(names, s.Name)
	}
	if want := []string{"later", "new", "other", "same"}; !slices.Equal(names, want) {
		t.Errorf("servers %v", names)
	}
	if pid := pidOf(t, h.Host, "same"); pid != same {
		t.Error("same was restarted")
	}
	if f := mustFail(t, h.Host, host.Request{Tool: "same/greet"}); f.Class != failure.NotFound {
		t.Errorf("a tool that is hidden now: %v", f)
	}
	for tool, want := range map[string]string{"other/greet": "Ave, x!", "later/greet": "Heus, x!", "new/greet": "Hello, x!"} {
		if res := mustCall(t, h.Host, tool, `{"name":"x"}`); !strings.Contains(string(res.JSON), want) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
	if pid := pidOf(t, h.Host, "other"); pid == other || pid == 0 {
		t.Errorf("other: pid %d after %d", pid, other)
	}
	await(t, h.states, "gone stopped")
	if f := mustFail(t, h.Host, host.Request{Tool: "gone/greet"}); f.Class != failure.NotFound || !strings.Contains(f.Message, "no server is called gone") {
		t.Errorf("%v", f)
	}
}

// A file that is half written when it is read changes nothing.
func TestReloadOfABrokenFile(t *testing.T) {
	h := watch(t, helloToml)
	mustCall(t, h.Host, "hello/greet", `{"name":"x"}`)
	pid := pidOf(t, h.Host, "hello")
	h.write(t, helloToml+"[servers.x\n")
	if err := h.Reload(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "mcp.toml:5") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(h.file); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), nil); err == nil {
		t.Error("a file that is gone is no error")
	}
	mustCall(t, h.Host, "hello/greet", `{"name":"x"}`)
	if now := pidOf(t, h.Host, "hello"); now != pid {
		t.Error("it was restarted")
	}
	h.reload(t, helloToml+"[servers.bad]\ncommand = 7\n")
	if p := h.Problems(); len(p) != 1 || p[0].Server != "bad" {
		t.Errorf("%v", p)
	}
}

func TestReloadOfLayers(t *testing.T) {
	opt := options(t, "")
	file := opt.ConfigFiles[0]
	layer := func(toml string) []host.Layer { return []host.Layer{{File: file, Data: []byte(toml)}} }
	opt.Layers, opt.ConfigFiles = layer(helloToml), nil
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
	if err := h.Reload(t.Context(), layer(strings.ReplaceAll(helloToml, "Salve", "Ave"))); err != nil {
		t.Fatal(err)
	}
	if res := mustCall(t, h, "hello/greet", `{"name":"x"}`); !strings.Contains(string(res.JSON), "Ave, x!") {
		t.Errorf("%s", res.JSON)
	}
	if err := h.Reload(t.Context(), nil); err != nil || len(h.Servers()) != 0 {
		t.Errorf("no layers: %v, %+v", err, h.Servers())
	}
}

// Calls that are made while the configuration changes end well, or in a failure
// that says what became of them; servers that the change does not concern notice
// nothing.
func TestReloadUnderLoad(t *testing.T) {
	const same = "[servers.same]\nplugin = \"hello\"\n"
	h := watch(t, same)
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for _, tool := range []string{"same/greet", "other/greet", "other/greet", "n/echo"} {
		callers.Go(func() {
			for ctx.Err() == nil {
				_, err := h.Call(patient(t), host.Request{Tool: tool, Arguments: json.RawMessage(`{"name":"x"}`)})
				var f *host.Failure
				switch {
				case err == nil:
				case tool == "same/greet" || !errors.As(err, &f):
					t.Errorf("%s: %v", tool, err)
				case f.Class != failure.NotFound && f.Class != failure.ConnectionRefused:
					t.Errorf("%s: %v %v", tool, f.Class, f)
				}
			}
		})
	}
	for i := range 12 {
		toml := same
		if i%3 > 0 {
			toml += fmt.Sprintf("[servers.other]\nplugin = \"hello\"\nconfig = { greeting = \"%d\" }\n", i)
		}
		if i%2 > 0 {
			toml += fmt.Sprintf("[servers.n]\ncommand = \"${BUILT}/faultserver\"\ntimeout = \"%ds\"\n", 10+i)
		}
		h.reload(t, toml)
		time.Sleep(time.Duration(i*20) * time.Millisecond) // a call or a start is cut off at one point or another
	}
	stop()
	callers.Wait()
	for tool, args := range map[string]string{"other/greet": `{"name":"x"}`, "n/echo": `{"text":"x"}`} {
		mustCall(t, h.Host, tool, args)
	}
}
