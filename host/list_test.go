package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

const threeToml = `
[servers.hello]
plugin = "hello"
[servers.help]
plugin = "testadapter"
[servers.off]
plugin = "hello"
enabled = false
[servers.bad]
command = 7
`

func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]struct {
		servers []string // those the query concerns
		tool    string   // one that is listed
		others  bool     // not the only one
	}{
		"":              {[]string{"bad", "hello", "help"}, "help/echo", true},
		"hello":         {[]string{"hello"}, "hello/greet", false},
		"hel*":          {[]string{"hello", "help"}, "hello/greet", true},
		"hel?":          {[]string{"help"}, "help/echo", true},
		"help/ech?":     {[]string{"help"}, "help/echo", false},
		"*/g*t":         {[]string{"bad", "hello", "help", "off"}, "hello/greet", false},
		"hello/*/greet": {[]string{"hello"}, "", false},
		"off":           {[]string{"off"}, "", false},
		"bad/x":         {[]string{"bad"}, "", false},
	} {
		t.Run(pattern, func(t *testing.T) {
			h, err := host.Open(t.Context(), options(t, threeToml))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			list, err := h.Tools(patient(t), host.Query{Pattern: pattern})
			if err != nil {
				t.Fatal(err)
			}
			var servers, tools []string
			for _, s := range list.Servers {
				servers = append(servers, s.Name)
			}
			for _, x := range list.Tools {
				tools = append(tools, x.Name)
			}
			if !slices.Equal(servers, want.servers) {
				t.Errorf("servers %v", servers)
			}
			if !slices.IsSorted(tools) || want.tool != "" && !slices.Contains(tools, want.tool) || len(tools) > 1 != want.others {
				t.Errorf("tools %v", tools)
			}
			for _, s := range h.Servers() {
				if ran := s.State == "ready"; ran != (slices.Contains(want.servers, s.Name) && strings.HasPrefix(s.Name, "hel")) {
					t.Errorf("%s is %s", s.Name, s.State)
				}
			}
		})
	}
}

func TestPatternOfNoServer(t *testing.T) {
	h := open(t, helloToml)
	for pattern, says := range map[string]string{
		"helo": "did you mean hello?", "helo/greet": "did you mean hello?", "x*/y": "no server is called x*",
	} {
		_, err := h.Tools(patient(t), host.Query{Pattern: pattern})
		var f *host.Failure
		if !errors.As(err, &f) || f.Class != failure.NotFound || !strings.Contains(f.Error(), says) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if s := h.Servers()[0]; s.State != "idle" {
		t.Errorf("hello is %s", s.State)
	}
}

func TestListIsCanceled(t *testing.T) {
	h := open(t, helloToml)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Tools(ctx, host.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Without prefixes a name that two tools claim from the start is nobody's, and
// one that was given stays where it is.
func TestPlainWireNames(t *testing.T) {
	const toml = `
[host]
wire_names = "plain"
[servers.a]
plugin = "testadapter"
[servers.b]
plugin = "testadapter"
tool_exposure = { "kill" = "hidden" }
[servers.hello]
plugin = "hello"
`
	h := open(t, toml)
	check := func(want func(host.Tool) string) {
		t.Helper()
		list, err := h.Tools(patient(t), host.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Tools {
			if x.WireName != want(x) {
				t.Errorf("%s is %q, want %q", x.Name, x.WireName, want(x))
			}
		}
	}
	check(func(x host.Tool) string {
		switch x.Name {
		case "hello/greet":
			return "greet"
		case "a/kill": // the other one is hidden
			return "kill"
		}
		return ""
	})
	h = open(t, toml)
	x, err := h.Tool(patient(t), "a/echo")
	if err != nil || x.WireName != "echo" {
		t.Errorf("while it is the only one known: %+v %v", x, err)
	}
	check(func(x host.Tool) string {
		if x.Server == "b" {
			return ""
		}
		_, tool, _ := strings.Cut(x.Name, "/")
		return tool
	})
}

// The tools of a server whose upstream has just died are still known: the list
// has them, and it counts as one that answered.
func TestListOfAServerInTrouble(t *testing.T) {
	h := open(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\n")
	mustCall(t, h, "n/echo", `{"text":"x"}`)
	degraded := make(chan struct{}, 10)
	defer h.Subscribe(func(e host.Event) {
		if e.ServerChanged != nil && e.ServerChanged.State == "degraded" {
			degraded <- struct{}{}
		}
	})()
	mustFail(t, h, host.Request{Tool: "n/x_exit", Retry: host.RetryNever})
	select {
	case <-degraded:
	case <-patient(t).Done():
		t.Fatal("never degraded")
	}
	if s := h.Servers()[0]; s.State != "degraded" || !strings.Contains(s.Error, "exit status 3") || s.Failure == nil {
		t.Errorf("%+v", s)
	}
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) == 0 || list.Servers[0].Error != "" || list.Servers[0].Failure == nil {
		t.Errorf("%d tools, %+v", len(list.Tools), list.Servers[0])
	}
	// Nobody can say that it has no such tool when it is well.
	if _, err := h.Tool(patient(t), "n/absent"); err == nil || !strings.Contains(err.Error(), "n is degraded") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a tool that is not there now: %v", err)
	}
}

// A server that cannot be started any more has the tools of its last list, and
// the list says so.
func TestListOfAServerThatIsDown(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "collet-plugin-hello")
	program, err := os.ReadFile(filepath.Join(built, "collet-plugin-hello"))
	if err == nil {
		err = os.WriteFile(plugin, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := watch(t, fmt.Sprintf("[servers.hello]\nplugin = %q\n", plugin))
	mustCall(t, h.Host, "hello/greet", `{"name":"x"}`)
	if err := os.Remove(plugin); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pidOf(t, h.Host, "hello"))
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, h.states, "hello failed") // after as many starts as there are
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 1 || !strings.Contains(list.Servers[0].Error, "its tools are those of its last list") || !strings.Contains(list.Servers[0].Error, "not tried again before") {
		t.Errorf("%d tools, %+v", len(list.Tools), list.Servers[0])
	}
	f := mustFail(t, h.Host, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if !f.Postponed || f.Class != failure.ConnectionRefused || f.RetryAfter <= 0 || f.Attempts != 1 {
		t.Errorf("%+v", f)
	}
}

func TestRefresh(t *testing.T) {
	h := open(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\n")
	has := func(refresh bool) bool {
		list, err := h.Tools(patient(t), host.Query{Pattern: "n/x_grown", Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Tools) == 1
	}
	if has(false) {
		t.Fatal("it is there before")
	}
	mustCall(t, h, "n/x_grow", `{}`)
	if !has(true) {
		t.Error("the refreshed list lacks it")
	}
}

func TestLogLevelOfTheFile(t *testing.T) {
	for toml, want := range map[string]slog.Level{"": slog.LevelError, "[host]\nlog_level = \"debug\"\n": slog.LevelDebug} {
		opt := options(t, toml)
		opt.LogLevel = new(slog.LevelVar)
		opt.LogLevel.Set(slog.LevelError)
		h, err := host.Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if got := opt.LogLevel.Level(); got != want {
			t.Errorf("%q: %v", toml, got)
		}
	}
}

func TestPluginDirThatCannotBeExpanded(t *testing.T) {
	h, err := host.Open(t.Context(), options(t, "[host]\nplugin_dirs = [\"${NOBODY_SETS_THIS}/x\", \"fine\"]\n"+helloToml))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if p := h.Problems(); len(p) != 1 || p[0].Line != 2 || p[0].Key != "host.plugin_dirs[0]" || !strings.Contains(p[0].Message, "NOBODY_SETS_THIS") {
		t.Errorf("%v", p)
	}
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
}

// Values come from the host's environment and from commands, and a command that
// fails tells the beginning of its stderr, but keeps its stdout to itself.
func TestValuesOfTheConfiguration(t *testing.T) {
	opt := options(t, `
[servers.hello]
plugin = "hello"
config = { greeting = "!echo \"$WHO\"; echo" }
[servers.fails]
plugin = "hello"
config = { greeting = "!echo s3cret; printf 'no such entry\\nline 2\\n\\tline 3\\nline 4\\n' >&2; exit 3" }
[servers.floods]
plugin = "hello"
config = { greeting = "!head -c 100000 /dev/zero" }
[servers.hangs]
plugin = "hello"
config = { greeting = "!exec sleep 60" }
start_timeout = "1s"
`)
	opt.Environ = append(opt.Environ, "WHO=Salut")
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if res := mustCall(t, h, "hello/greet", `{"name":"x"}`); !bytes.Contains(res.JSON, []byte("Salut, x!")) {
		t.Errorf("%s", res.JSON)
	}
	for server, c := range map[string]struct {
		says          string
		class         failure.Class
		misconfigured bool
	}{
		"fails":  {"exit status 3: no such entry; line 2; line 3", failure.InvalidArguments, true},
		"floods": {"more than 65536 bytes", failure.InvalidArguments, true},
		"hangs":  {"start_timeout of 1s", failure.Timeout, false},
	} {
		f := mustFail(t, h, host.Request{Tool: server + "/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
		if f.Class != c.class || f.Misconfigured != c.misconfigured || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "s3cret") || strings.Contains(f.Message, "line 4") {
			t.Errorf("%s: %v misconfigured=%v %s", server, f.Class, f.Misconfigured, f.Message)
		}
	}
}

func TestClosedHost(t *testing.T) {
	h := open(t, helloToml)
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if f.Class != failure.Canceled || f.Delivery != failure.NotSent {
		t.Errorf("%+v", f)
	}
	list, err := h.Tools(patient(t), host.Query{Wait: time.Second})
	if err != nil || len(list.Tools) != 0 || list.Servers[0].State != "stopped" || list.Servers[0].Error == "" {
		t.Errorf("%+v %v", list, err)
	}
}
