package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

func greeting(t *testing.T, h *host.Host, args string) string {
	t.Helper()
	res := mustCall(t, h, "hello/greet", args)
	return gjson.GetBytes(res.JSON, "content.0.text").String()
}

// openFaulty is open for a configuration that has faults.
func openFaulty(t *testing.T, toml string) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), options(t, toml))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestHooksWrapCalls(t *testing.T) {
	h := open(t, helloToml+`
[hooks.outer]
plugin = "testhook"
config = { before = "mark", after = "mark", mark = "1" }
[hooks.inner]
plugin = "testhook"
config = { before = "mark", after = "mark", mark = "2" }
[hooks.others]
plugin = "testhook"
tools = ["other/*"]
config = { before = "refuse" }
[hooks.off]
enabled = false
plugin = "testhook"
config = { before = "refuse" }
`)
	// Before in file order, After the other way round: the first stands next to the caller.
	if got := greeting(t, h, `{"name":"world"}`); got != "12Salve, 21world!" {
		t.Errorf("got %q", got)
	}
}

func TestHookAnswersAndRefuses(t *testing.T) {
	h := open(t, helloToml+`
[hooks.h]
plugin = "testhook"
config = { before = "answer", mark = "me" }
`)
	// Nothing is sent, so nothing is validated and no server starts for it.
	if got := greeting(t, h, `{"name":7}`); got != "answered by me for cli" {
		t.Errorf("got %q", got)
	}
	for deed, delivery := range map[string]failure.Delivery{"before": failure.NotSent, "after": failure.Answered} {
		h := open(t, helloToml+`
[hooks.h]
plugin = "testhook"
config = { `+deed+` = "refuse" }
`)
		f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
		if f.Class != failure.ConsentRequired || f.Delivery != delivery || !strings.HasSuffix(f.Message, "the hook h refuses: not today") {
			t.Errorf("%s: %v %v %s", deed, f.Class, f.Delivery, f.Message)
		}
	}
}

// What a hook makes of the arguments is validated as what a caller sends.
func TestHooksArgumentsAreValidated(t *testing.T) {
	h := open(t, helloToml+`
[hooks.h]
plugin = "testhook"
config = { before = "mark", mark = "x\",\"more\":\"" }
`)
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != "/more" {
		t.Errorf("%v %s %+v", f.Class, f.Message, f.Problems)
	}
	// What is no object never reaches a hook.
	if f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`[]`)}); f.Class != failure.InvalidArguments || strings.Contains(f.Message, "hook") {
		t.Errorf("%v %s", f.Class, f.Message)
	}
}

// A hook that does not work fails the calls it is asked about, or none of them.
func TestBrokenHooks(t *testing.T) {
	for _, test := range []struct{ config, closed string }{
		{`{ before = "error" }`, "no idea"},
		{`{ before = "panic" }`, "panicked: on demand"},
		{`{ before = "exit" }`, "its process ended (exit status 7)"},
		{`{ before = "hang" }`, "it did not answer within 500ms"},
		{`{ before = "garbage" }`, "the hook's answer is not a JSON object"},
		{`{ after = "error" }`, "the tool has run, its result is withheld"},
		{`{ after = "answer" }`, "in After use Result"},
		{`{ open = "error" }`, "it does not want to open"},
		{`{ open = "exit" }`, "ended"},
		{`{ befour = "mark" }`, "its config does not fit"},
	} {
		t.Run(test.config, func(t *testing.T) {
			t.Parallel()
			toml := helloToml + `
[hooks.h]
plugin = "testhook"
timeout = "500ms"
tools = ["hello/*"]
config = ` + test.config + "\n"
			if strings.Contains(test.config, "before") || strings.Contains(test.config, "after") {
				h := open(t, toml)
				f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
				if f.Class != failure.ServerError || !strings.Contains(f.Message, test.closed) || !strings.Contains(f.Message, "the hook h (") {
					t.Errorf("closed: %v %s", f.Class, f.Message)
				}
			} else if h := openFaulty(t, toml); len(h.Servers()) > 0 || len(h.Problems()) != 1 || !strings.Contains(h.Problems()[0].Error(), test.closed) {
				// It may edit the servers, and nobody knows how: there are none.
				t.Errorf("closed: %v %v", h.Servers(), h.Problems())
			}
			h := openFaulty(t, toml+"on_error = \"open\"\n")
			res := mustCall(t, h, "hello/greet", `{"name":"x"}`)
			if got := gjson.GetBytes(res.JSON, "content.0.text").String(); got != "Salve, x!" {
				t.Errorf("open: %q", got)
			}
			// Once, also of a hook that could be asked neither before nor after.
			if n := strings.Count(strings.Join(res.Notices, "\n"), "the hook h was not asked: "); n != 1 {
				t.Errorf("open: notices %q", res.Notices)
			}
		})
	}
}

// A hook that ended is started again for the next call.
func TestHookComesBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are killed with kill")
	}
	h := open(t, helloToml+`
[hooks.h]
plugin = "testhook"
config = { before = "mark", mark = "m" }
env = { MARKED = "comes-back" }
`)
	if got := greeting(t, h, `{"name":"x"}`); got != "Salve, mx!" {
		t.Fatal(got)
	}
	for _, s := range h.Hooks(t.Context()) {
		if s.Err != nil || s.Pid == 0 {
			t.Fatalf("%+v", s)
		}
		if out, err := exec.Command("kill", "-9", strconv.Itoa(s.Pid)).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			res, err := h.Call(t.Context(), host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
			var f *host.Failure
			switch {
			case errors.As(err, &f) && strings.Contains(f.Message, "its process ended (signal: killed)"): // it was asked in the moment of its end
			case err != nil:
				t.Error(err)
			case gjson.GetBytes(res.JSON, "content.0.text").String() != "Salve, mx!":
				t.Errorf("%s", res.JSON)
			}
		})
	}
	wg.Wait()
	if got := greeting(t, h, `{"name":"x"}`); got != "Salve, mx!" {
		t.Error(got)
	}
}

func TestHookEditsServers(t *testing.T) {
	h := open(t, helloToml+`
[servers.gone]
command = "x"
[hooks.first]
plugin = "testhook"
[hooks.first.config]
set = { added = { plugin = "hello", config = { greeting = "Ave" } } }
remove = ["gone"]
[hooks.second]
plugin = "testhook"
[hooks.second.config.update]
added = { config = { greeting = "Vale" } }
hello = { config = { greeting = "Ciao" }, exposure = "hidden" }
`)
	var names []string
	for _, s := range h.Servers() {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"added", "hello"}) || len(h.Problems()) > 0 {
		t.Fatalf("%v %v", names, h.Problems())
	}
	res := mustCall(t, h, "added/greet", `{"name":"x"}`)
	if got := gjson.GetBytes(res.JSON, "content.0.text").String(); got != "Vale, x!" {
		t.Error(got)
	}
	if f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)}); f.Class != failure.NotFound {
		t.Errorf("a hidden server's tool: %v", f)
	}
	// What mcp.toml could not say no hook can.
	h = openFaulty(t, helloToml+`
[hooks.h]
plugin = "testhook"
on_error = "open"
config = { update = { hello = { timout = "5s" } } }
`)
	if p := h.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), "hooks.h: could not edit the servers: servers.hello.timout: unknown key; did you mean timeout?") {
		t.Errorf("%v", p)
	}
	if got := greeting(t, h, `{"name":"x"}`); got != "Salve, x!" {
		t.Error(got)
	}
}

func TestHookEditsTools(t *testing.T) {
	h := open(t, `
[servers.a]
plugin = "testadapter"
[servers.hello]
plugin = "hello"
[hooks.h]
plugin = "testhook"
tools = ["a/count", "hello/*"]
[hooks.h.config]
hide = ["count", "echo"]
patch = { greet = { description = "Says hello & more.", name = "other" } }
`)
	list, err := h.Tools(t.Context(), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, tool := range list.Tools {
		seen[tool.Name] = tool.Description
	}
	if _, ok := seen["a/count"]; ok || seen["hello/greet"] != "Says hello & more." {
		t.Errorf("%v", seen)
	}
	if _, ok := seen["a/echo"]; !ok { // is not among the hook's tools
		t.Errorf("%v", seen)
	}
	if f := mustFail(t, h, host.Request{Tool: "a/count"}); f.Class != failure.NotFound {
		t.Errorf("a hidden tool: %v %s", f.Class, f.Message)
	}
}

// A plugin under the wrong table says so.
func TestKindsOfPlugins(t *testing.T) {
	h := open(t, `
[servers.h]
plugin = "testhook"
`)
	if f := mustFail(t, h, host.Request{Tool: "h/x"}); !strings.Contains(f.Message, "name it under [hooks.testhook]") {
		t.Errorf("%s", f.Message)
	}
	h = openFaulty(t, helloToml+"[hooks.h]\nplugin = \"hello\"\n")
	if p := h.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), "offers tools and is no hook: name it under [servers]") {
		t.Errorf("%v", p)
	}
	d, err := h.Diagnose(t.Context(), host.DiagnoseQuery{})
	if err != nil || d.Worst() != host.KindConfiguration {
		t.Errorf("%+v, %v", d, err)
	}
}

// The hooks that ship, as they ship.
func TestShippedHooks(t *testing.T) {
	for _, name := range []string{"ratelimit", "secretscan"} {
		if err := build("../plugins/"+name, filepath.Join(built, "collet-plugin-"+name), "."); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, helloToml+`
[hooks.scan]
plugin = "secretscan"
[hooks.limit]
plugin = "ratelimit"
config = { rules = [{ tools = "hello/*", per_minute = 1, burst = 2 }] }
`)
	token := "ghp" + "_" + strings.Repeat("aB3", 12)
	if f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"` + token + `"}`)}); f.Class != failure.InvalidArguments || !strings.Contains(f.Message, "a GitHub token") {
		t.Errorf("%v %s", f.Class, f.Message)
	}
	for range 2 { // the refused call was not counted
		if got := greeting(t, h, `{"name":"x"}`); got != "Salve, x!" {
			t.Error(got)
		}
	}
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if f.Class != failure.RateLimited || f.RetryAfter <= 0 || f.Delivery != failure.NotSent {
		t.Errorf("%v %v %s", f.Class, f.RetryAfter, f.Message)
	}
}

// A hook sees everything: its file is pinned as that of a server's plugin is.
func TestHookIsPinned(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "hook")
	copyOf := func(name string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(built, name))
		if err == nil {
			err = os.WriteFile(plugin, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copyOf("collet-plugin-testhook")
	opt := options(t, "[hooks.watch]\nplugin = \""+plugin+"\"\n")
	check := func() error {
		t.Helper()
		h, err := host.Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return h.Hooks(t.Context())[0].Err
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	copyOf("collet-plugin-hello")
	if err := check(); err == nil || !strings.Contains(err.Error(), "is not the one that was pinned") {
		t.Errorf("a hook that was swapped: %v", err)
	}
}

// A script runs where it is, so that one that changes meanwhile is stopped.
func TestHookSwappedWhileItStarts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	plugin := filepath.Join(t.TempDir(), "hook")
	script := "#!/bin/sh\n[ \"$1\" = describe ] || echo '# more' >>\"$0\"\nexec '" + filepath.Join(built, "collet-plugin-testhook") + "' \"$@\"\n"
	if err := os.WriteFile(plugin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	h := openFaulty(t, "[hooks.watch]\nplugin = \""+plugin+"\"\n")
	p := h.Problems()
	if len(p) != 1 || !strings.Contains(p[0].Message, plugin) || !strings.Contains(p[0].Message, "changed while it was being started") {
		t.Errorf("%v", p)
	}
}

// What a hook is configured with is in no error, whatever it says.
func TestHooksSecrets(t *testing.T) {
	t.Setenv("HOOKS_VALUE", "canary-variable-55a1")
	for deed, value := range map[string]string{
		`before = "error"`: "!echo canary-command-55a2", `after = "error"`: "${HOOKS_VALUE}", `before = "refuse"`: "${HOOKS_VALUE}", `after = "refuse"`: "!echo canary-command-55a2",
	} {
		h := open(t, helloToml+"\n[hooks.h]\nplugin = \"testhook\"\nconfig = { "+deed+`, mark = "`+value+"\" }\n")
		f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
		if strings.Contains(f.Message, "canary") || !strings.Contains(f.Message, "[") {
			t.Errorf("%s: %s", deed, f.Message)
		}
	}
	h := openFaulty(t, helloToml+"\n[hooks.h]\nplugin = \"testhook\"\nconfig = { mark = \"!echo $HOOKS_VALUE >&2; exit 1; ${HOOKS_VALUE}\" }\nenv = { A = \"${HOOKS_VALUE}\" }\n")
	if p := h.Problems(); len(p) != 1 || strings.Contains(p[0].Message, "canary") {
		t.Errorf("a command that fails: %v", p)
	}
}
