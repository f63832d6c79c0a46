package main

import (
	"os"
	"strings"
	"testing"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestConfigIsRefused(t *testing.T) {
	for _, test := range []struct {
		name, path, says string
		config           config
	}{
		{"neither", "/command", "either command or url", config{}},
		{"both", "/url", "exclude each other", config{Command: "x", URL: "https://example.com/mcp"}},
		{"no url", "/url", "must be http://", config{URL: "example.com/mcp"}},
		{"another scheme", "/url", "must be http://", config{URL: "file:///etc/hostname"}},
		{"no header", "/headers", "X Y", config{URL: "https://example.com/mcp", Headers: map[string]string{"X Y": "1"}}},
		{"no header's value", "/headers", "line break", config{URL: "https://example.com/mcp", Headers: map[string]string{"X": "1\r\nY: 2"}}},
		{"no file", "/ca_file", "no/such.pem", config{URL: "https://example.com/mcp", CAFile: "no/such.pem"}},
		{"no certificate", "/ca_file", "no certificate", config{URL: "https://example.com/mcp", CAFile: pluginPath}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := startPlugin(t).configure(t, test.config)
			f := failure.FromStatus(err)
			if f == nil || f.Class != failure.InvalidArguments || len(f.Problems) != 1 {
				t.Fatalf("%v is not a failure with one problem", err)
			}
			if f.Problems[0].Path != test.path || !strings.Contains(f.Message, test.says) {
				t.Errorf("%s: %s, want %s: ...%s...", f.Problems[0].Path, f.Message, test.path, test.says)
			}
		})
	}
}

// Nothing between the caller and the server rewrites JSON.
func TestBytesStayBytes(t *testing.T) {
	t.Parallel()
	cfg, _ := faulty(t)
	p := serve(t, cfg)
	if def := p.tools(t)["echo"]; !strings.HasSuffix(def, `,"_meta":{"com.example/n":9007199254740993},"x":1.0}`) {
		t.Errorf("definition %s", def)
	}
	for tool, want := range map[string]string{
		"c_numbers":   `{"content":[{"type":"text","text":"numbers"}],"structuredContent":{"zebra":1,"alpha":2,"one":1.0,"exp":1e2,"small":1E-7,"neg0":-0.0,"big":9007199254740993}}`,
		"c_key_order": `{"zeta":1,"content":[{"text":"order","type":"text"}],"structuredContent":{"b":1,"a":2,"c":{"z":1,"y":2}},"alpha":{"unknown":true}}`,
		"c_html":      "{\"content\":[{\"type\":\"text\",\"text\":\"a<b> & c</b> 'q' \u2028\u2029\"}]}",
	} {
		if got := p.mustCall(t, tool, `{}`); got.result != want {
			t.Errorf("%s: %s\nwant %s", tool, got.result, want)
		}
	}
	args := "{\"z\":9007199254740993,\"a\":1.0,\"s\":\"<&>\u2028\"}"
	if got := p.mustCall(t, "raw", args); !strings.Contains(unquote(t, got.result), `"arguments":`+args) {
		t.Errorf("the server received %s", got.result)
	}
	if got := p.mustCall(t, "c_error", `{}`); !got.isError {
		t.Error("a tool that failed is not marked as such")
	}
}

// The child gets the environment of the config and nothing else.
func TestEnvironmentIsTheOneGiven(t *testing.T) {
	t.Parallel()
	cfg, _ := faulty(t)
	got := unquote(t, serve(t, cfg).mustCall(t, "x_env", `{"names":["ONLY","PATH","HOME","COLLET_PLUGIN"]}`).result)
	if !strings.Contains(got, `{"COLLET_PLUGIN":null,"HOME":null,"ONLY":"this","PATH":null}`) {
		t.Errorf("environment %s", got)
	}
}

// A server that ends fails its call with the reason, and the next call has a new one.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	cfg, log := faulty(t)
	p := serve(t, cfg)
	wait := p.watch(t)
	wait(inState(adapterpb.Health_STATE_READY))

	_, err := p.call(t, "x_exit", `{}`)
	f := wantFailure(t, err, failure.ConnectionRefused, failure.DeliveryUnknown)
	if !strings.Contains(f.Message, "exit status 3") || !strings.Contains(f.Message, "exiting as told") {
		t.Errorf("message %q has neither the status nor the server's last words", f.Message)
	}
	wait("the reason", func(ev *adapterpb.WatchEvent) bool {
		h := health(ev)
		return h.GetState() == adapterpb.Health_STATE_UNAVAILABLE && strings.Contains(h.GetFailure().GetMessage(), "exit status 3")
	})
	if n := count(t, log, `"event":"start"`); n != 1 {
		t.Errorf("%d starts before the next call, want 1", n)
	}
	if got := p.mustCall(t, "echo", `{"text":"again"}`); !strings.Contains(got.result, "again") {
		t.Errorf("result %s", got.result)
	}
	wait(inState(adapterpb.Health_STATE_READY))
	if n := count(t, log, `"x_exit"`); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

func TestServerCannotStart(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]config{
		"missing": {Command: "/no/such/server"},
		"crash":   {Command: faultPath, Args: []string{"-fault", "crash-init"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, cfg)
			p.watch(t)(inState(adapterpb.Health_STATE_UNAVAILABLE))
			_, err := p.ListTools(within(t), &adapterpb.ListToolsRequest{})
			f := failure.FromStatus(err)
			if f == nil {
				t.Fatalf("ListTools: %v", err)
			}
			wantFailure(t, f, failure.ConnectionRefused, failure.NotSent)
			if name == "crash" && !strings.Contains(f.Message, "NASTY_API_KEY") {
				t.Errorf("message %q lacks what the server said", f.Message)
			}
		})
	}
}

// A server that ends after every list, however cleanly, is started five times, ever
// more slowly, and then left alone for a while.
func TestServerThatKeepsEnding(t *testing.T) {
	t.Parallel()
	cfg, log := faulty(t, "-fault", "crash-afterlist")
	p := serve(t, cfg)
	starts := func() int { return count(t, log, `"event":"start"`) }
	for n := 0; ; n++ {
		_, err := p.ListTools(within(t), &adapterpb.ListToolsRequest{})
		if err == nil {
			continue
		}
		f := failure.FromStatus(err)
		if f == nil || f.Class != failure.ConnectionRefused {
			t.Fatalf("ListTools: %v", err)
		}
		if f.RetryAfter > 0 {
			if starts() != 5 || f.RetryAfter > 30*time.Second || !strings.Contains(f.Message, "not tried again") {
				t.Errorf("after %d starts: %q, retry after %s", starts(), f.Message, f.RetryAfter)
			}
			return
		}
		if n > 100 {
			t.Fatalf("%d starts and no end to them", starts())
		}
	}
}

func TestToolsChangedIsAnnounced(t *testing.T) {
	t.Parallel()
	cfg, _ := faulty(t)
	p := serve(t, cfg)
	if _, has := p.tools(t)["x_grown"]; has {
		t.Fatal("it has grown already")
	}
	wait := p.watch(t)
	p.mustCall(t, "x_grow", `{}`)
	wait("ToolsChanged", func(ev *adapterpb.WatchEvent) bool { return ev.GetToolsChanged() != nil })
	if _, has := p.tools(t)["x_grown"]; !has {
		t.Error("the new list lacks x_grown")
	}
}

// A server of 2026-07-28 may ask for input instead of answering.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	cfg, _ := faulty(t, "-fault", "modern-only")
	a := serve(t, cfg).mustCall(t, "c_input_required", `{}`)
	if a.input == nil || a.input.GetRequestState() != "s-1" ||
		string(a.input.GetRequests()) != `{"q":{"method":"elicitation/create","params":{"message":"sure?"}}}` {
		t.Errorf("input %v, result %q", a.input, a.result)
	}
}

// Stopping the plugin lets its server leave by itself.
func TestStopIsPolite(t *testing.T) {
	t.Parallel()
	cfg, log := faulty(t)
	p := serve(t, cfg)
	p.tools(t)
	if err := p.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	if count(t, log, `"event":"eof"`) != 1 {
		t.Error("the server was not told by the end of its stdin")
	}
}

// count counts the lines of a server's log that hold text.
func count(t *testing.T, log, text string) int {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
