package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// publish puts a server behind a listener.
func publish(t testing.TB, s *Server) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTP())
	stream, message := s.SSE()
	mux.Handle("/sse", stream)
	mux.Handle("/mcp/message", message)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h.URL + "/mcp"
}

// exchangeWith sends one request and reads the whole response.
func exchangeWith(t *testing.T, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	resp := roundTripTo(t, method, url, body, header)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, strings.TrimSuffix(string(b), "\n")
}

func roundTripTo(t *testing.T, method, url, body string, header map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(within(t), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// modernHeader are the headers of a modern request.
func modernHeader(method, name string) map[string]string {
	h := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

func modernCall(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,` + modernMeta + `}}`
}

// Our own client in both eras, and over the old transport.
func TestHTTPServesOurClient(t *testing.T) {
	for _, test := range []struct {
		name, path, version string
		opt                 Options
	}{
		{"modern", "", "2026-07-28", Options{}},
		{"legacy", "", "2025-11-25", Options{SkipProbe: true}},
		{"old", "/../sse", "2025-11-25", Options{SkipProbe: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
			changed := make(chan string, 10)
			asked := make(chan string, 1)
			test.opt.OnNotification = func(method string, _ json.RawMessage) { changed <- method }
			test.opt.Capabilities = json.RawMessage(`{"roots":{}}`)
			test.opt.OnRequest = rootsFor(asked)
			s := deskServer(t, d, ServerOptions{})
			c, err := Dial(within(t), Endpoint{URL: strings.Replace(publish(t, s), "/mcp", strings.Replace("/mcp"+test.path, "/mcp/..", "", 1), 1)}, test.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			checkServed(t, c, d, test.version)
			s.Notify("notifications/tools/list_changed", nil, nil)
			select {
			case m := <-changed:
				if m != "notifications/tools/list_changed" {
					t.Errorf("notified of %s", m)
				}
			case <-within(t).Done():
				t.Error("no notification")
			}
		})
	}
}

// Quick answers are JSON; what says something before is an event stream.
func TestHTTPAnswers(t *testing.T) {
	url := publish(t, deskServer(t, &desk{}, ServerOptions{}))
	resp, body := exchangeWith(t, "POST", url, modernCall(`"a\u0062"`, "echo", `{"text":"<&>"}`), modernHeader("tools/call", "echo"))
	if want := `{"jsonrpc":"2.0","id":"a\u0062","result":{"resultType":"complete","_meta":{` + deskInfo + `},"content":[{"type":"text","text":"<&>"}]}}`; resp.StatusCode != 200 ||
		resp.Header.Get("Content-Type") != "application/json" || body != want || resp.ContentLength != int64(len(want)+1) {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	progress := strings.Replace(modernCall("1", "steps", "{}"), `"_meta":{`, `"_meta":{"progressToken":"t\u0031",`, 1)
	resp, body = exchangeWith(t, "POST", url, progress, modernHeader("tools/call", "steps"))
	step := func(n string) string {
		return `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u0031","progress":` + n + `,"total":3}}` + "\n\n"
	}
	if want := step("1") + step("2") + step("3") +
		`data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{` + deskInfo + `},"content":[{"type":"text","text":"stepped"}]}}` + "\n"; resp.StatusCode != 200 ||
		resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" || body != want {
		t.Errorf("%s %v\n%s\n%s", resp.Status, resp.Header, body, want)
	}
	// Whoever accepts one type only gets that one.
	header := modernHeader("tools/call", "steps")
	header["Accept"] = "application/json"
	if resp, body = exchangeWith(t, "POST", url, progress, header); resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "stepped") {
		t.Errorf("JSON only: %v %s", resp.Header, body)
	}
	header = modernHeader("tools/call", "echo")
	header["Accept"] = "text/event-stream"
	if resp, body = exchangeWith(t, "POST", url, modernCall("1", "echo", `{"text":"x"}`), header); resp.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, `data: {"jsonrpc":"2.0","id":1,"result":{`) {
		t.Errorf("events only: %v %s", resp.Header, body)
	}
	// Log messages come only to who asked for them, and no more than asked for.
	for level, want := range map[string]int{"": 0, "debug": 3, "info": 2, "warning": 1, "emergency": 0} {
		asked := modernCall("1", "log", "{}")
		if level != "" {
			asked = strings.Replace(asked, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
		}
		_, body = exchangeWith(t, "POST", url, asked, modernHeader("tools/call", "log"))
		if got := strings.Count(body, "notifications/message"); got != want {
			t.Errorf("log level %q: %d messages", level, got)
		}
	}
}

func TestHTTPRefusals(t *testing.T) {
	url := publish(t, deskServer(t, &desk{}, ServerOptions{MaxBody: 4096}))
	echo := modernCall("1", "echo", `{"text":"x"}`)
	mirror := modernCall("1", "mirror", `{"text":"x","region":"ü","n":12345678901234567890}`)
	with := func(h map[string]string, pairs ...string) map[string]string {
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	good := func() map[string]string { return modernHeader("tools/call", "echo") }
	mirrored := func(pairs ...string) map[string]string {
		return with(modernHeader("tools/call", "mirror"), append([]string{"Mcp-Param-Region", "=?base64?w7w=?=", "Mcp-Param-Count", "12345678901234567890"}, pairs...)...)
	}
	bare := func(method string) string { return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{}}` }
	meta := func(method string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + modernMeta + `}}`
	}
	for _, test := range []struct {
		name, method, body string
		header             map[string]string
		status, code       int
	}{
		{"fine", "POST", echo, good(), 200, 0},
		{"fine, lower case", "POST", echo, map[string]string{"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": " echo "}, 200, 0},
		{"fine, encoded name", "POST", echo, with(good(), "Mcp-Name", "=?base64?ZWNobw==?="), 200, 0},
		{"fine, a session's header", "POST", echo, with(good(), "Mcp-Session-Id", "x"), 200, 0},
		{"fine, charset", "POST", echo, with(good(), "Content-Type", "application/json; charset=UTF-8"), 200, 0},
		{"fine, anything accepted", "POST", echo, with(good(), "Accept", "*/*"), 200, 0},
		{"fine, no Accept", "POST", echo, with(good(), "Accept", ""), 200, 0},
		{"version missing", "POST", echo, with(good(), "MCP-Protocol-Version", ""), 400, -32020},
		{"version other", "POST", echo, with(good(), "MCP-Protocol-Version", "2025-11-25"), 400, -32020},
		{"method missing", "POST", echo, with(good(), "Mcp-Method", ""), 400, -32020},
		{"method other", "POST", echo, with(good(), "Mcp-Method", "tools/list"), 400, -32020},
		{"method case", "POST", echo, with(good(), "Mcp-Method", "TOOLS/CALL"), 400, -32020},
		{"name missing", "POST", echo, with(good(), "Mcp-Name", ""), 400, -32020},
		{"name other", "POST", echo, with(good(), "Mcp-Name", "mirror"), 400, -32020},
		{"name badly encoded", "POST", echo, with(good(), "Mcp-Name", "=?base64?ZWNobw?="), 400, -32020},
		{"parameters", "POST", mirror, mirrored(), 200, 0},
		{"parameter missing", "POST", mirror, mirrored("Mcp-Param-Region", ""), 400, -32020},
		{"parameter other", "POST", mirror, mirrored("Mcp-Param-Count", "12345678901234567891"), 400, -32020},
		{"parameter badly encoded", "POST", mirror, mirrored("Mcp-Param-Region", "=?base64?w7w?="), 400, -32020},
		{"parameter that is not there", "POST", modernCall("1", "mirror", `{"region":null}`), with(modernHeader("tools/call", "mirror"), "Mcp-Param-Region", "x"), 400, -32020},
		{"parameters absent", "POST", modernCall("1", "mirror", `{"region":null}`), modernHeader("tools/call", "mirror"), 200, 0},
		{"meta missing", "POST", bare("server/discover"), modernHeader("server/discover", ""), 400, -32602},
		{"meta missing, no params", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modernHeader("tools/list", ""), 400, -32602},
		{"params", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, modernHeader("tools/list", ""), 400, -32602},
		{"level", "POST", strings.Replace(echo, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1), good(), 400, -32602},
		{"unknown version", "POST", strings.Replace(echo, "2026-07-28", "2031-01-01", 1), with(good(), "MCP-Protocol-Version", "2031-01-01"), 400, -32022},
		{"unknown version in the header", "POST", bare("tools/list"), map[string]string{"MCP-Protocol-Version": "1999-01-01"}, 400, -32022},
		{"unknown method", "POST", meta("x"), modernHeader("x", ""), 404, -32601},
		{"initialize", "POST", meta("initialize"), modernHeader("initialize", ""), 404, -32601},
		{"ping", "POST", meta("ping"), modernHeader("ping", ""), 404, -32601},
		{"setLevel", "POST", meta("logging/setLevel"), modernHeader("logging/setLevel", ""), 404, -32601},
		{"subscribe", "POST", meta("resources/subscribe"), modernHeader("resources/subscribe", ""), 404, -32601},
		{"unknown tool", "POST", modernCall("1", "nothing", "{}"), modernHeader("tools/call", "nothing"), 400, -32602},
		{"capability", "POST", modernCall("1", "fail", "{}"), modernHeader("tools/call", "fail"), 400, -32021},
		{"any error", "POST", modernCall("1", "secret", "{}"), modernHeader("tools/call", "secret"), 200, -32603},
		{"no JSON", "POST", "{", good(), 400, -32700},
		{"empty", "POST", "", good(), 400, -32700},
		{"batch", "POST", "[" + echo + "," + echo + "]", good(), 400, -32600},
		{"repeated member", "POST", strings.Replace(echo, `"id":1`, `"id":1,"id":1`, 1), good(), 400, -32600},
		{"an answer", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, good(), 400, -32600},
		{"type", "POST", echo, with(good(), "Content-Type", "text/plain"), 415, 0},
		{"no type", "POST", echo, with(good(), "Content-Type", ""), 415, 0},
		{"charset", "POST", echo, with(good(), "Content-Type", "application/json; charset=latin1"), 415, 0},
		{"accepts nothing of ours", "POST", echo, with(good(), "Accept", "text/html, application/json;q=0"), 406, 0},
		{"subscription without events", "POST", strings.Replace(meta("subscriptions/listen"), "{\"_meta", `{"notifications":{},"_meta`, 1), with(modernHeader("subscriptions/listen", ""), "Accept", "application/json"), 406, 0},
		{"too large", "POST", modernCall("1", "echo", `{"text":"`+strings.Repeat("x", 4096)+`"}`), good(), 413, 0},
		{"GET", "GET", "", map[string]string{"MCP-Protocol-Version": "2026-07-28"}, 405, 0},
		{"DELETE", "DELETE", "", map[string]string{"MCP-Protocol-Version": "2026-07-28"}, 405, 0},
		{"PUT", "PUT", echo, good(), 405, 0},
		{"HEAD", "HEAD", "", nil, 405, 0},
		{"legacy without a session", "POST", bare("tools/list"), nil, 400, 0},
		{"unknown session", "POST", bare("tools/list"), map[string]string{"Mcp-Session-Id": "x"}, 404, 0},
		{"GET of an unknown session", "GET", "", map[string]string{"Mcp-Session-Id": "x"}, 404, 0},
		{"DELETE of an unknown session", "DELETE", "", map[string]string{"Mcp-Session-Id": "x"}, 404, 0},
		{"session of another era", "DELETE", "", map[string]string{"Mcp-Session-Id": "x", "MCP-Protocol-Version": "2026-07-28"}, 400, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, body := exchangeWith(t, test.method, url, test.body, test.header)
			if resp.StatusCode != test.status {
				t.Errorf("%s, want %d: %s", resp.Status, test.status, body)
			}
			if code := string(member(member([]byte(body), "error"), "code")); test.code != 0 && code != strconv.Itoa(test.code) {
				t.Errorf("%s, want %d", body, test.code)
			}
			if test.code != 0 && test.code > -32600 && string(member([]byte(body), "id")) != "1" {
				t.Errorf("the error lacks the id: %s", body)
			}
			if test.status == 405 && resp.Header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
	// A body that does not say how long it is.
	r, _ := http.NewRequestWithContext(within(t), "POST", url, struct{ io.Reader }{strings.NewReader(strings.Repeat(" ", 5000))})
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %s", resp.Status)
	}
}

// What is not answered is accepted without a body.
func TestHTTPNotifications(t *testing.T) {
	url := publish(t, deskServer(t, &desk{}, ServerOptions{}))
	resp, body := exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`+modernMeta+`}}`, modernHeader("notifications/cancelled", ""))
	if resp.StatusCode != http.StatusAccepted || body != "" || resp.ContentLength != 0 || resp.Header.Get("Content-Type") != "" {
		t.Errorf("%s %v %q", resp.Status, resp.Header, body)
	}
}
