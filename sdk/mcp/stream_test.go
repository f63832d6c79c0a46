package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// What servers print besides or around their messages costs no message.
func TestOddStreams(t *testing.T) {
	for _, test := range []struct {
		faults string
		junk   bool
		logged string // in the log of warnings
	}{
		{"", false, ""},
		{"banner", true, `\x1b[1m nasty`},
		{"jsonlog", true, `level`},
		{"bom", false, ""},
		{"earlyping", false, ""},
		{"midlog", true, `\x1b[32mworking`},
		{"leading", true, `{busy}`},
		{"ansi", true, `\x1b[?25l`},
		{"nul", true, `\x00\x00`},
		{"badutf8", true, "not valid UTF-8"},
		{"splitutf8", false, ""},
		{"dribble", false, ""},
		{"crlf", false, ""},
		{"blank", false, ""},
		{"pretty", false, ""},
		{"twodocs", false, ""},
		{"id-string", false, ""},
		{"id-float", false, ""},
		{"id-exp", false, ""},
		{"batch", false, ""},
		{"casefold", false, ""},
		{"idlast", false, ""},
		{"errnull", false, ""},
		{"pretty,idlast,bom", false, ""},
	} {
		t.Run(test.faults, func(t *testing.T) {
			t.Parallel()
			logged := &records{}
			c := connectTo(t, faulty(t, "-fault", test.faults), Options{Log: logged.logger()})
			tools, err := c.ListTools(within(t))
			if err != nil || len(tools) < 50 {
				t.Errorf("ListTools = %d tools, %v", len(tools), err)
			}
			echoes(t, c)
			if got := said(t, callTool(t, c, "c_unicode", "{}")); got != "日本語 🤖 é é🤖" {
				t.Errorf("c_unicode says %q", got)
			}
			if got := c.Stats().JunkLines > 0; got != test.junk {
				t.Errorf("junk lines: %v, want %v\n%s", got, test.junk, logged)
			}
			// Log quotes what is quoted already.
			if plain := strings.ReplaceAll(logged.String(), `\\`, `\`); !strings.Contains(plain, test.logged) {
				t.Errorf("log lacks %q:\n%s", test.logged, logged)
			}
			if strings.Contains(logged.String(), "\x1b") {
				t.Error("control characters reached the log")
			}
			if n := strings.Count(logged.String(), "skipped output"); n > junkLogged {
				t.Errorf("%d junk lines were logged, want at most %d", n, junkLogged)
			}
		})
	}
}

func TestInvalidUTF8InAString(t *testing.T) {
	c := connect(t, "")
	if got := said(t, callTool(t, c, "c_raw_badutf8", "{}")); got != "bad \uFFFD( end" {
		t.Errorf("text is %q", got)
	}
	if got := c.Stats().InvalidUTF8; got != 1 {
		t.Errorf("InvalidUTF8 = %d, want 1", got)
	}
}

// An answer the protocol does not allow fails its call at once; the session goes on.
func TestOddAnswers(t *testing.T) {
	for _, test := range []struct {
		faults, tool string
		parts        []string
	}{
		{"both", "echo", []string{"both a result and an error"}},
		{"neither", "echo", []string{"neither"}},
		{"repeat", "echo", []string{"result", "twice"}},
		{"badjson", "echo", []string{"not valid JSON"}},
		{"", "c_result_array", []string{"no JSON object", "[1,2]"}},
		{"", "c_result_null", []string{"no JSON object"}},
	} {
		t.Run(test.faults+test.tool, func(t *testing.T) {
			t.Parallel()
			c := connect(t, test.faults)
			wantFailure(t, callFails(t, c, test.tool, "{}"), failure.InvalidResult, failure.Answered, test.parts...)
			if _, err := c.ListTools(within(t)); err != nil {
				t.Errorf("the session did not survive: %v", err)
			}
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	c := connect(t, "")
	f := callFails(t, c, "c_rpc_error", "{}")
	wantFailure(t, f, failure.ServerError, failure.Answered, "no quota")
	if f.UpstreamCode != -32050 || string(f.UpstreamData) != `{"left":0}` {
		t.Errorf("upstream code %d, data %s", f.UpstreamCode, f.UpstreamData)
	}
	wantFailure(t, callFails(t, c, "c_invalid_params", "{}"), failure.InvalidArguments, failure.Answered, "city is missing")
	_, err := c.Request(within(t), "no/such", nil, RequestOptions{})
	f = asFailure(t, err)
	wantFailure(t, f, failure.ServerError, failure.Answered)
	if f.UpstreamCode != -32601 {
		t.Errorf("upstream code %d, want -32601", f.UpstreamCode)
	}
	// isError is a result.
	if raw := callTool(t, c, "c_error", "{}"); !strings.Contains(raw, `"isError":true`) {
		t.Errorf("c_error = %s", raw)
	}
}

// An error without an id belongs to the only open request.
func TestErrorWithoutID(t *testing.T) {
	c := connect(t, "errnoid")
	f := callFails(t, c, "echo", "{}")
	wantFailure(t, f, failure.ServerError, failure.Answered, "Parse error")
	if f.UpstreamCode != -32700 {
		t.Errorf("upstream code %d, want -32700", f.UpstreamCode)
	}
}

func TestResultType(t *testing.T) {
	modern := connect(t, "modern")
	wantFailure(t, callFails(t, modern, "c_task", "{}"), failure.InvalidResult, failure.Answered, "task")
	if raw := callTool(t, modern, "c_input_required", "{}"); !strings.Contains(raw, `"requestState":"s-1"`) {
		t.Errorf("input_required came back as %s", raw)
	}
	echoes(t, modern) // its result has no resultType
	if raw := callTool(t, connect(t, ""), "c_task", "{}"); !strings.Contains(raw, "t-1") {
		t.Errorf("legacy result = %s", raw)
	}
}

// waitPending waits until n requests are open.
func waitPending(t *testing.T, c *Client, n int) {
	t.Helper()
	for ctx := within(t); ; time.Sleep(time.Millisecond) {
		c.session.mu.Lock()
		open := len(c.session.pending)
		c.session.mu.Unlock()
		if open == n {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d requests are open, want %d", open, n)
		}
	}
}

// Numbers, key order, unknown members, and characters others escape arrive as
// they were written, in both directions.
func TestFidelity(t *testing.T) {
	const args = `{"zebra":9007199254740993,"alpha":1.0,"exp":1e2,"small":1E-7,"neg":-0.0,"huge":123456789012345678901234567890,"html":"<a> & 'b'","sep":"` + "\u2028\u2029" + `","esc":"\u00e9\ud83e\udd16\/","s":"000123","nested":{"b":[1,{"z":null}],"a":true}, "spaced" : [ 1 , 2 ]}`
	for _, faults := range []string{"", "modern"} {
		c := connect(t, faults)
		sent := said(t, callTool(t, c, "raw", args))
		if got := string(member(member([]byte(sent), "params"), "arguments")); got != args {
			t.Errorf("the server received\n%s\nwant\n%s", got, args)
		}
		if got := string(member(member([]byte(sent), "params"), "name")); got != `"raw"` {
			t.Errorf("name = %s", got)
		}
	}
	c := connect(t, "")
	for tool, want := range map[string]string{
		"c_numbers":         `"structuredContent":{"zebra":1,"alpha":2,"one":1.0,"exp":1e2,"small":1E-7,"neg0":-0.0,"big":9007199254740993}}`,
		"c_key_order":       `{"zeta":1,"content":[{"text":"order","type":"text"}],"structuredContent":{"b":1,"a":2,"c":{"z":1,"y":2}},"alpha":{"unknown":true}}`,
		"c_html":            `a<b> & c</b> 'q' ` + "\u2028\u2029",
		"c_unknown_type":    `{"content":[{"type":"hologram","beam":1},{"type":"text","text":"and text"}]}`,
		"c_bad_base64":      `"data":"***"`,
		"c_content_string":  `{"content":"just text"}`,
		"c_meta":            `"_meta":{"com.example/trace":"t-1"}`,
		"c_case_keys":       `"text":"right","Text":"wrong"`,
		"c_repeated_keys":   `{"a":1,"a":2}`,
		"c_structured_only": `{"content":[],"structuredContent":{"answer":42}}`,
		"c_unicode":         `\u00e9\ud83e\udd16`,
	} {
		if raw := callTool(t, c, tool, "{}"); !strings.Contains(raw, want) {
			t.Errorf("%s = %s, want %s in it", tool, raw, want)
		}
	}
	tools, err := c.ListTools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if name, _ := text(member(tool, "name")); name == "echo" && !strings.HasSuffix(string(tool), `"_meta":{"com.example/n":9007199254740993},"x":1.0}`) {
			t.Errorf("echo is defined as %s", tool)
		}
	}
}

// Line breaks between tokens would end the line.
func TestArgumentsOverSeveralLines(t *testing.T) {
	sent := said(t, callTool(t, connect(t, ""), "raw", "\n{\n  \"a\": 1.0,\r\n  \"b\": \"x\\ny\"\n}\n"))
	if got := string(member(member([]byte(sent), "params"), "arguments")); got != `{   "a": 1.0,    "b": "x\ny" }` {
		t.Errorf("arguments = %q", got)
	}
}

func TestBadArgumentsAreNotSent(t *testing.T) {
	p := faulty(t)
	c := connectTo(t, p, Options{})
	for _, args := range []string{`{`, `[]`, `"x"`, `{} {}`, `{"a":01}`, `{"a":NaN}`, "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", ``} {
		_, err := c.CallTool(within(t), "raw", json.RawMessage(args), RequestOptions{})
		wantFailure(t, asFailure(t, err), failure.InvalidArguments, failure.NotSent)
		_, err = c.Request(within(t), "x/y", json.RawMessage(args), RequestOptions{})
		wantFailure(t, asFailure(t, err), failure.InvalidArguments, failure.NotSent)
		_, err = c.CallTool(within(t), "raw", nil, RequestOptions{Meta: json.RawMessage(args)})
		wantFailure(t, asFailure(t, err), failure.InvalidArguments, failure.NotSent)
	}
	if n := p.count(t, "tools/call") + p.count(t, "x/y"); n != 0 {
		t.Errorf("%d requests with bad arguments were sent", n)
	}
}

func TestMeta(t *testing.T) {
	const ours = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	meta := func(c *Client, given string) string {
		raw, err := c.CallTool(within(t), "raw", nil, RequestOptions{Meta: json.RawMessage(given)})
		if err != nil {
			t.Fatal(err)
		}
		sent := []byte(said(t, string(raw)))
		got := member(member(sent, "params"), "_meta")
		if token := member(got, "progressToken"); string(token) != string(member(sent, "id")) {
			t.Errorf("progressToken is %s in %s", token, sent)
		}
		return strings.Replace(string(got), `"progressToken":`+string(member(sent, "id")), "TOKEN", 1)
	}
	legacy, modern := connect(t, ""), connect(t, "modern")
	client := `"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"collet","version":"0"}`
	for _, test := range []struct {
		c           *Client
		given, want string
	}{
		{legacy, ``, `{TOKEN}`},
		{legacy, `{"a/b": 1.0 ,"traceparent":"<00>"}`, `{TOKEN,"a/b":1.0,"traceparent":"<00>"}`},
		{legacy, `{"progressToken":"mine","z":{ "q" : 1e2 }}`, `{TOKEN,"z":{ "q" : 1e2 }}`},
		{modern, ``, `{TOKEN,` + ours + `,` + client + `}`},
		{modern, `{"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`,
			`{TOKEN,` + ours + `,"io.modelcontextprotocol/clientInfo":{"name":"collet","version":"0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`},
	} {
		given := test.given
		if given == "" {
			given = "{}"
		}
		if got := meta(test.c, given); got != test.want {
			t.Errorf("Meta %s was sent as\n%s\nwant\n%s", test.given, got, test.want)
		}
	}
}

// A request of any kind keeps its parameters, merges _meta and gets no token
// unless someone listens.
func TestRequestParams(t *testing.T) {
	p := faulty(t)
	c := connectTo(t, p, Options{})
	for i, test := range []struct {
		params, meta, want string
	}{
		{``, ``, `{}`},
		{`{"uri":"x:<y>","n":1.0}`, ``, `{"uri":"x:<y>","n":1.0}`},
		{` { "_meta" : {"a":1,"progressToken":9} , "b" : 2 } `, ``, `{"b":2,"_meta":{"a":1}}`},
		{`{"_meta":{"a":1,"c":3}}`, `{"a":2.0}`, `{"_meta":{"a":2.0,"c":3}}`},
	} {
		var params, meta json.RawMessage
		if test.params != "" {
			params = json.RawMessage(test.params)
		}
		if test.meta != "" {
			meta = json.RawMessage(test.meta)
		}
		method := fmt.Sprintf("any/%d", i)
		_, err := c.Request(within(t), method, params, RequestOptions{Meta: meta})
		wantFailure(t, asFailure(t, err), failure.ServerError, failure.Answered)
		for _, e := range p.events(t) {
			if m, _ := text(member(e.Message, "method")); m == method {
				if got := string(member(e.Message, "params")); got != test.want {
					t.Errorf("%s with _meta %s was sent as %s, want %s", test.params, test.meta, got, test.want)
				}
			}
		}
	}
	_, err := c.Request(within(t), "any/x", json.RawMessage(`{"_meta":5}`), RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.InvalidArguments, failure.NotSent)
}
