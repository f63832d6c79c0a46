package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/sdk/failure"
)

func answer(result string) *fakeHost {
	return &fakeHost{result: &host.Result{Tool: "s/t", JSON: json.RawMessage(result), Attempts: 1, Duration: 1500 * time.Millisecond}}
}

func TestEnvelopeKeepsBytes(t *testing.T) {
	result := "{ \"z\":1.0,\n\t\"a\":9007199254740993, \"h\":\"<&>\u2028\\u00e9\", \"content\":[] }"
	c := command{host: answer(result)}
	if code := c.run(t, "tools", "call", "s/t", "--json", "--config", "x"); code != 0 {
		t.Fatal(code, c.err.String())
	}
	want := `{"tool":"s/t","ok":true,"result":` + result + `,"attempts":1,"durationMs":1500,"notices":[]}` + "\n"
	if c.out.String() != want {
		t.Errorf("got %s want %s", c.out.String(), want)
	}
}

func TestEnvelopeOfAFailure(t *testing.T) {
	f := failed(failure.RateLimited)
	f.RetryAfter, f.UpstreamCode, f.StderrTail, f.Attempts, f.Notices = 2*time.Second, 429, []string{"a", "<b>"}, 2, []string{"n"}
	c := command{host: &fakeHost{err: f}}
	if code := c.run(t, "tools", "call", "s/t", "--json", "--config", "x"); code != 4 {
		t.Fatal(code)
	}
	want := `{"tool":"s/t","ok":false,"failure":{"class":"rate-limited","delivery":"not-sent","message":"it went wrong","server":"s","tool":"t","retryAfterMs":2000,"upstreamCode":429,"stderrTail":["a","<b>"]},"attempts":2,"durationMs":0,"notices":["n"]}` + "\n"
	if c.out.String() != want {
		t.Errorf("got %s want %s", c.out.String(), want)
	}
	if c.err.Len() > 0 {
		t.Errorf("stderr: %s", c.err.String())
	}
}

func TestFailureForAPerson(t *testing.T) {
	f := failed(failure.ConnectionRefused)
	f.StderrTail = []string{"panic: x", "\x1b[2Jexit"}
	f.Problems = []failure.Problem{{Path: "/a", Rule: "type", Message: "not this"}, {Rule: "required", Message: "went wrong"}}
	c := command{host: &fakeHost{err: f}, terminal: true}
	c.run(t, "tools", "call", "s/t", "--config", "x")
	want := "collet: s/t: it went wrong\n  /a: type: not this\n  the end of its stderr:\n    panic: x\n    " + `\x1b[2Jexit` + "\n  'collet servers logs s' shows what it said\n"
	if c.err.String() != want {
		t.Errorf("got %q, want %q", c.err.String(), want)
	}
}

func TestCallPassesOn(t *testing.T) {
	h := answer(`{"content":[]}`)
	h.tool = &host.Tool{InputSchema: json.RawMessage(`{"properties":{"s":{"type":"string"}}}`)}
	c := command{host: h}
	c.run(t, "tools", "call", "s/t", "s=007", "x=1", "--timeout", "3s", "--retry", "never", "--yes", "--config", "x")
	r := h.request
	if r.Tool != "s/t" || string(r.Arguments) != `{"s":"007","x":1}` || r.Timeout != 3*time.Second || r.Retry != host.RetryNever || r.Caller != host.CLI {
		t.Errorf("got %+v %s", r, r.Arguments)
	}

	const whole = "{ \"b\":1.0,\n \"a\":{} }"
	h = answer(`{"content":[]}`)
	c = command{host: h, stdin: whole + "\n"}
	c.run(t, "tools", "call", "s/t", "--args", "-", "--config", "x")
	if string(h.request.Arguments) != whole {
		t.Errorf("--args sent %s", h.request.Arguments)
	}
}

func TestMisspelledArgumentsAreNotSent(t *testing.T) {
	h := answer(`{}`)
	h.tool = &host.Tool{InputSchema: json.RawMessage(`{"properties":{"n":{"type":"integer"},"b":{"type":"boolean"}}}`)}
	c := command{host: h}
	code := c.run(t, "tools", "call", "s/t", "n=000123", "b=yes", "--config", "x")
	if code != 2 || h.called {
		t.Errorf("exit code %d, called %t", code, h.called)
	}
	for _, part := range []string{"collet: s/t: ", `/n: "000123" is no integer (type)`, `/b: "yes" is no boolean (type)`} {
		if !strings.Contains(c.err.String(), part) {
			t.Errorf("stderr lacks %q: %s", part, c.err.String())
		}
	}
}

func TestMisnamedArgument(t *testing.T) {
	const doubt = `the tool declares no argument "titel"; did you mean "title"?`
	open := json.RawMessage(`{"properties":{"title":{"type":"string"},"n":{"type":"integer"}}}`)
	const done = `{"content":[{"type":"text","text":"done"}]}`
	h := answer(done)
	h.tool = &host.Tool{InputSchema: open}
	c := command{host: h}
	if code := c.run(t, "tools", "call", "s/t", "titel=x", "zzz=1", "--config", "x"); code != 0 || c.err.String() != "collet: note: "+doubt+"\n" {
		t.Errorf("an open schema: exit code %d, stderr %q", code, c.err.String())
	}
	c = command{host: h}
	h.result.Notices = nil
	c.run(t, "tools", "call", "s/t", "titel=x", "--json", "--config", "x")
	if got := gjson.Get(c.out.String(), "notices").Raw; got != `["the tool declares no argument \"titel\"; did you mean \"title\"?"]` {
		t.Errorf("--json: notices %s", got)
	}
	c = command{host: h}
	if c.run(t, "tools", "call", "s/t", "titel=x", "n=x", "--config", "x"); !strings.Contains(c.err.String(), "note: "+doubt) {
		t.Errorf("beside another fault: %s", c.err.String())
	}
	c = command{host: &fakeHost{tool: h.tool, err: failed(failure.InvalidArguments)}}
	if c.run(t, "tools", "call", "s/t", "titel=x", "--config", "x"); !strings.Contains(c.err.String(), "note: "+doubt) {
		t.Errorf("beside a refusal: %s", c.err.String())
	}
	said := failed(failure.InvalidArguments)
	said.Problems = []failure.Problem{{Path: "/titel", Rule: "additionalProperties", Message: "m"}}
	c = command{host: &fakeHost{tool: h.tool, err: said}}
	if c.run(t, "tools", "call", "s/t", "titel=x", "--config", "x"); strings.Contains(c.err.String(), doubt) {
		t.Errorf("told twice: %s", c.err.String())
	}
	for _, free := range []string{`{}`, `{"properties":{"title":{}},"additionalProperties":{"type":"string"}}`, `{"properties":{"title":{}},"patternProperties":{"t.*":{}}}`,
		`{"properties":{"title":{}},"anyOf":[{"properties":{"titel":{}}}]}`} {
		h := answer(done)
		h.tool = &host.Tool{InputSchema: json.RawMessage(free)}
		c := command{host: h}
		if c.run(t, "tools", "call", "s/t", "titel=x", "--config", "x"); c.err.Len() > 0 {
			t.Errorf("%s: %s", free, c.err.String())
		}
	}
}

// One tool whose schema nothing can read leaves the list readable.
func TestListStaysReadable(t *testing.T) {
	nested := func(levels int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"not":`, levels) + `"\"[{"` + strings.Repeat("}", levels))
	}
	wide := json.RawMessage(`{"enum":[` + strings.Repeat(`["{[\\"],`, 500) + `0]}`)
	h := &fakeHost{listing: host.Listing{Tools: []host.Tool{
		{Name: "s/deep", InputSchema: nested(maxListed + 1), OutputSchema: nested(maxListed)},
		{Name: "s/wide", InputSchema: wide},
	}}}
	c := command{host: h}
	c.run(t, "tools", "list", "--json", "--config", "x")
	for path, want := range map[string]string{
		"tools.0.inputSchema": "null", "tools.0.outputSchema": string(nested(maxListed)), "tools.1.inputSchema": string(wide),
	} {
		if got := gjson.Get(c.out.String(), path).Raw; got != want {
			t.Errorf("%s: %.60s, want %.60s", path, got, want)
		}
	}
}

func TestTerminalEscapesWhatStrangersSay(t *testing.T) {
	evil := "\x1b[2J\u202e"
	h := answer(`{"content":[{"type":"text","text":"\u001b[2J\u202e\ttab"},{"type":"\u001b[2J"}]}`)
	h.result.Notices = []string{evil}
	h.tool = &host.Tool{Name: "s/" + evil, WireName: "s__x", Title: evil, Description: evil,
		InputSchema: json.RawMessage(`{"$ref":"https://\u001b[2J\u202e","properties":{"\u001b[2J":{"description":"\u001b[2J","default":"\u202e"}}}`)}
	h.listing = host.Listing{
		Tools:   []host.Tool{*h.tool},
		Servers: []host.Server{{Name: "s", State: "failed", Error: evil, Failure: failed(failure.Timeout), Plugin: evil}},
	}
	for _, args := range [][]string{
		{"tools", "call", "s/t"}, {"tools", "call", "s/t", "-q", "content.0.text"}, {"tools", "show", "s/t"},
		{"tools", "list"}, {"tools", "list", "--tokens"}, {"servers", "list"},
		{"tools", "call", "s/t", "--json"}, {"tools", "show", "s/t", "--json"}, {"tools", "list", "--json"},
	} {
		c := command{host: h, terminal: true}
		c.run(t, append(args, "--config", "x")...)
		for name, text := range map[string]string{"stdout": c.out.String(), "stderr": c.err.String()} {
			// The spinner's own sequence is the only one that may be there.
			text = strings.ReplaceAll(text, "\r\x1b[K", "")
			if strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%v: %s: %q", args, name, text)
			}
		}
		if !strings.Contains(c.out.String(), `\x1b[2J`) && !strings.Contains(c.out.String(), `\u001b[2J`) {
			t.Errorf("%v: nothing escaped: %q", args, c.out.String())
		}
	}
	c := command{host: h}
	c.run(t, "tools", "call", "s/t", "--config", "x")
	if !strings.Contains(c.out.String(), evil+"\ttab") {
		t.Errorf("a pipe gets other bytes: %q", c.out.String())
	}
}

func TestListExitCodes(t *testing.T) {
	ready := host.Server{Name: "a", State: "ready"}
	late := host.Server{Name: "b", State: "starting", Error: "still starting"}
	dead := host.Server{Name: "c", State: "failed", Error: "gone", Failure: failed(failure.ConnectionRefused)}
	wrong := host.Server{Name: "d", State: "misconfigured", Error: "mcp.toml:1: x"}
	auth := host.Server{Name: "e", State: "failed", Error: "401", Failure: failed(failure.AuthFailure)}
	off := host.Server{Name: "f", State: "disabled", Error: "disabled"}
	for _, test := range []struct {
		servers []host.Server
		want    int
		lines   int // on stderr
	}{
		// One line for each server that is missing, but for a wrong entry, which the
		// file's problems tell, and one that says that there are no tools.
		{nil, 0, 1},
		{[]host.Server{ready, late, dead, wrong}, 0, 3},
		{[]host.Server{late}, 6, 2},
		{[]host.Server{late, dead}, 4, 3},
		{[]host.Server{auth, dead, late}, 5, 4},
		{[]host.Server{auth, wrong}, 3, 2},
		{[]host.Server{off}, 8, 1},
		{[]host.Server{off, dead}, 4, 2},
	} {
		for _, extra := range []string{"--json=false", "--json"} {
			c := command{host: &fakeHost{listing: host.Listing{Servers: test.servers}}}
			if code := c.run(t, "tools", "list", extra, "--config", "x"); code != test.want {
				t.Errorf("%v: exit code %d, want %d", test.servers, code, test.want)
			}
			if n := strings.Count(c.err.String(), "\n"); n != test.lines {
				t.Errorf("%v: %d lines on stderr: %s", test.servers, n, c.err.String())
			}
		}
	}
}

func TestEmptyListSaysWhy(t *testing.T) {
	ready := host.Server{Name: "a", State: "ready"}
	dead := host.Server{Name: "c", State: "failed", Error: "gone"}
	off := host.Server{Name: "f", State: "disabled"}
	for _, test := range []struct {
		args    []string
		servers []host.Server
		want    string
	}{
		{nil, nil, "no tools: no servers are configured"},
		{nil, []host.Server{ready}, "no tools: the servers have none, or hide them all"},
		{[]string{"--exposure", "hidden"}, []host.Server{ready}, "no tools have the exposure hidden"},
		{[]string{"--exposure", "hidden", "a/x*"}, []host.Server{ready}, "no tools have the exposure hidden and match a/x*"},
		{[]string{"a/x*"}, []host.Server{ready}, "no tools match a/x*"},
		{[]string{"--exposure", "hidden"}, []host.Server{ready, dead}, "no tools have the exposure hidden: a server is missing, see above"},
		{nil, []host.Server{dead, dead}, "no tools: 2 servers are missing, see above"},
		{[]string{"f"}, []host.Server{off}, "no tools match f: every such server is disabled"},
	} {
		c := command{host: &fakeHost{listing: host.Listing{Servers: test.servers}}}
		c.run(t, append([]string{"tools", "list", "--config", "x"}, test.args...)...)
		lines := strings.Split(strings.TrimSpace(c.err.String()), "\n")
		if last := lines[len(lines)-1]; last != "collet: "+test.want {
			t.Errorf("%q: got %s, want %s", test.args, last, test.want)
		}
		if c.out.Len() > 0 {
			t.Errorf("%q: stdout %s", test.args, c.out.String())
		}
	}
}

func TestListJSONOfNothing(t *testing.T) {
	c := command{host: &fakeHost{}}
	c.run(t, "tools", "list", "--json", "--config", "x")
	if want := `{"tools":[],"servers":[]}` + "\n"; c.out.String() != want {
		t.Errorf("got %s", c.out.String())
	}
}

func TestListCutsToTheTerminal(t *testing.T) {
	long := strings.Repeat("word ", 40)
	h := &fakeHost{listing: host.Listing{
		Tools:   []host.Tool{{Name: "s/t", Exposure: host.Direct, Description: "\n" + long + "\nsecond line"}},
		Servers: []host.Server{{Name: "s", State: "ready"}},
	}}
	c := command{host: h, terminal: true}
	c.run(t, "tools", "list", "--config", "x")
	for line := range strings.Lines(c.out.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	c = command{host: h}
	c.run(t, "tools", "list", "--config", "x")
	if !strings.Contains(c.out.String(), strings.TrimSpace(long)+"\n") || strings.Contains(c.out.String(), "second") {
		t.Errorf("to a pipe: %s", c.out.String())
	}
}

func TestConfigurationIsNamed(t *testing.T) {
	c := command{host: &fakeHost{}}
	if code := c.run(t, "tools", "list"); code != 3 || !strings.Contains(c.err.String(), "no configuration: write ") {
		t.Errorf("got %d, %s", code, c.err.String())
	}
	c = command{host: &fakeHost{}, environmentValue: "env.toml"}
	c.run(t, "tools", "list")
	if got := c.options.ConfigFiles; len(got) != 1 || got[0] != "env.toml" {
		t.Errorf("COLLET_CONFIG: %v", got)
	}
	c = command{host: &fakeHost{}, environmentValue: "env.toml"}
	c.run(t, "tools", "list", "--config", "flag.toml")
	if got := c.options.ConfigFiles; len(got) != 1 || got[0] != "flag.toml" {
		t.Errorf("--config: %v", got)
	}
}

func TestFullDiskIsTold(t *testing.T) {
	for _, args := range [][]string{{"tools", "call", "s/t"}, {"tools", "call", "s/t", "--json"}, {"tools", "list", "--json"}, {"version"}} {
		h := answer(`{"content":[{"type":"text","text":"x"}]}`)
		c := command{host: h, outBroken: errors.New("no space left on device")}
		if code := c.run(t, append(args, "--config", "x")...); code != 4 || !strings.Contains(c.err.String(), "no space left") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, c.err.String())
		}
	}
}

func TestCtrlCWhileArgumentsAreRead(t *testing.T) {
	for _, args := range [][]string{{"--args", "-"}, {"x=@-"}} {
		in, typed := io.Pipe()
		h := answer(`{}`)
		f := New(&terminal.Streams{In: in, Out: io.Discard, Err: io.Discard}, configIn("x"), "test")
		f.Open = func(context.Context, host.Options) (openHost, error) { return h, nil }
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			typed.Write([]byte("{")) // returns once it is being read
			cancel()
		}()
		if code := f.Run(ctx, append([]string{"tools", "call", "s/t"}, args...)); code != 130 || h.called {
			t.Errorf("%q: exit code %d, called %t", args, code, h.called)
		}
		typed.Close()
	}
}

func TestFileThatCannotBeSavedStopsBeforeTheCall(t *testing.T) {
	h := answer(`{}`)
	c := command{host: h}
	if code := c.run(t, "tools", "call", "s/t", "--save", "/dev/null/x", "--config", "x"); code != 2 || h.called {
		t.Errorf("exit code %d, called %t", code, h.called)
	}
}
