package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// The tokens of credentials, by principal.
const (
	wideToken    = "the-token-of-wide-which-is-long-enough"
	narrowToken  = "the-token-of-narrow-which-is-long-enough"
	otherToken   = "the-token-of-other-which-is-long-enough"
	expiredToken = "the-token-of-expired-which-is-long-enough"
)

// credentials is a file of tokens: of one who may use everything, of one who may use
// what is open of the server alpha, of its like, and of one who is late.
func credentials(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.toml")
	text := fmt.Sprintf(`
[tokens.wide]
sha256 = "%x"
servers = ["*"]
[tokens.narrow]
sha256 = "%x"
servers = ["alpha"]
tools = ["open_*"]
[tokens.other]
sha256 = "%x"
servers = ["alpha"]
tools = ["open_*"]
[tokens.expired]
sha256 = "%x"
servers = ["*"]
expires = 2020-01-01T00:00:00Z
`, sha256.Sum256([]byte(wideToken)), sha256.Sum256([]byte(narrowToken)), sha256.Sum256([]byte(otherToken)), sha256.Sum256([]byte(expiredToken)))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// twoServers is a host before alpha and beta, served to holders of credentials.
func twoServers(t *testing.T) (url string, alpha, beta *upstream, h *host.Host) {
	t.Helper()
	alpha, beta = newUpstream(t, "alpha"), newUpstream(t, "beta")
	h = open(t, fmt.Sprintf("[host]\nexposure = \"direct\"\nresponse_budget = \"16KiB\"\n[servers.alpha]\nurl = %q\n[servers.beta]\nurl = %q\ndescription = \"about beta\"\n[servers.beta.tool_exposure]\n\"secret_beta\" = \"deferred\"\n", alpha.url, beta.url))
	return endpoint(t, h, host.HTTPOptions{ScopedTokenFile: credentials(t), SSE: true}), alpha, beta, h
}

// as is a client with a token.
func as(t *testing.T, url, token string, opt mcp.Options) *mcp.Client {
	t.Helper()
	c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url + "/mcp", Header: http.Header{"Authorization": {"Bearer " + token}}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// everyMethod has each method of MCP with what it could be about, alpha's or beta's
// as NAME says.
var everyMethod = []struct{ method, params string }{
	{"tools/list", `{}`},
	{"tools/call", `{"name":"NAME__open_NAME","arguments":{}}`},
	{"tools/call", `{"name":"NAME__secret_NAME","arguments":{}}`},
	{"tools/call", `{"name":"NAME__secret_NAM","arguments":{}}`},
	{"tools/call", `{"name":"tool_search","arguments":{"query":"NAME tools"}}`},
	{"tools/call", `{"name":"tool_search","arguments":{"query":"secret","server":"NAME","limit":50}}`},
	{"tools/call", `{"name":"tool_search","arguments":{"query":"NAME/secret_NAME,NAME/open_NAME"}}`},
	{"tools/call", `{"name":"tool_call","arguments":{"name":"NAME/secret_NAME"}}`},
	{"tools/call", `{"name":"tool_call","arguments":{"name":"NAME/secret_NAM"}}`},
	{"tools/call", `{"name":"tool_call","arguments":{"name":"NAME__secret_NAME","arguments":{}}}`},
	{"tools/call", `{"name":"result_read","arguments":{"handle":"none"}}`},
	{"prompts/list", `{}`},
	{"prompts/get", `{"name":"NAME__prompt_NAME"}`},
	{"prompts/get", `{"name":"NAME__prompt_NAM"}`},
	{"resources/list", `{}`},
	{"resources/templates/list", `{}`},
	{"resources/read", `{"uri":"collet:NAME/file:///NAME"}`},
	{"resources/read", `{"uri":"file:///NAME"}`},
	{"resources/subscribe", `{"uri":"collet:NAME/file:///NAME"}`},
	{"resources/unsubscribe", `{"uri":"collet:NAME/file:///NAME"}`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"NAME__prompt_NAME"},"argument":{"name":"x","value":""}}`},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"collet:NAME/file:///NAME/{x}"},"argument":{"name":"x","value":""}}`},
	{"logging/setLevel", `{"level":"debug"}`},
	{"subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["collet:NAME/file:///NAME"]}}`},
	{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`},
	{"server/discover", `{}`},
	{"ping", `{}`},
	{"no/such/method", `{}`},
}

// message is a request of either era.
func message(method, params string, modern bool) string {
	if modern {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`
		if params != "{}" {
			meta = "," + meta
		}
		params = strings.TrimSuffix(params, "}") + meta
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// Whoever has no credential that counts learns nothing, whatever the path and the
// method: not a server's name and not whether there are any.
func TestNothingWithoutCredentials(t *testing.T) {
	t.Parallel()
	url, _, _, _ := twoServers(t)
	as(t, url, wideToken, mcp.Options{}) // there is a session, and all have started
	wide := as(t, url, wideToken, mcp.Options{SkipProbe: true})
	if _, err := wide.ListTools(patient(t)); err != nil {
		t.Fatal(err)
	}
	for what, header := range map[string]string{
		"none": "", "expired": "Bearer " + expiredToken, "unknown": "Bearer " + strings.Repeat("x", 40),
		"empty": "Bearer ", "another scheme": "Basic " + wideToken, "cut off": "Bearer " + wideToken[:37],
	} {
		check := func(method, path, body string, more ...string) {
			t.Helper()
			if header != "" {
				more = append(more, "Authorization", header)
			}
			res, text := exchange(t, method, url+path, body, more...)
			switch res.StatusCode {
			case 401, 400, 429: // 400: it cannot be read; 429: it comes too often
			default:
				t.Errorf("%s: %s %s %s: %s %s", what, method, path, body, res.Status, text)
			}
			for _, word := range []string{"alpha", "beta", "open_", "secret_", "tools", "wide"} {
				if strings.Contains(text, word) || strings.Contains(fmt.Sprint(res.Header), word) {
					t.Errorf("%s: %s %s: it says %q: %s", what, method, path, word, text)
				}
			}
		}
		for _, path := range []string{"/mcp", "/sse", "/mcp/message?sessionId=x", "/metrics", "/mcp/", "/", "/else", "//mcp", "/%6dcp", "/healthz/"} {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
				check(method, path, "")
			}
		}
		for _, m := range everyMethod {
			for _, name := range []string{"alpha", "beta"} {
				check("POST", "/mcp", strings.ReplaceAll(message(m.method, m.params, true), "NAME", name))
				check("POST", "/mcp", strings.ReplaceAll(message(m.method, m.params, false), "NAME", name), "Mcp-Session-Id", "x")
				check("POST", "/mcp/message?sessionId=x", strings.ReplaceAll(message(m.method, m.params, false), "NAME", name))
			}
		}
	}
}

// A credential for a part of one server sees that part. All else is answered as if it
// did not exist, in every method of both eras: answers about beta, which is there, are
// those about a server that is not.
func TestNarrowCredentials(t *testing.T) {
	t.Parallel()
	url, _, _, _ := twoServers(t)
	for _, modern := range []bool{true, false} {
		wide, narrow := as(t, url, wideToken, mcp.Options{SkipProbe: !modern}), as(t, url, narrowToken, mcp.Options{SkipProbe: !modern})
		for _, c := range []*mcp.Client{wide, narrow} { // until all have started
			if _, err := c.ListTools(patient(t)); err != nil {
				t.Fatal(err)
			}
		}
		if in := wide.Server().Instructions; !strings.Contains(in, "beta") {
			t.Errorf("wide is told %q", in) // or the test would say nothing
		}
		if in := narrow.Server().Instructions; strings.Contains(in, "beta") || strings.Contains(in, "secret") {
			t.Errorf("narrow is told %q", in)
		}
		_, opened := exchange(t, "POST", url+"/mcp", message("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, false), "Authorization", "Bearer "+narrowToken)
		if strings.Contains(opened, "beta") {
			t.Errorf("initialize says %s", opened)
		}
		ask := func(c *mcp.Client, method, params, name string) string {
			t.Helper()
			params = strings.ReplaceAll(params, "NAME", name)
			if method == "subscriptions/listen" || method == "initialize" || method == "server/discover" || strings.HasPrefix(method, "resources/") && strings.HasSuffix(method, "subscribe") {
				return ""
			}
			raw, err := c.Request(patient(t), method, json.RawMessage(params), mcp.RequestOptions{})
			if err != nil {
				return fmt.Sprint("error ", codeOf(err), err)
			}
			return string(raw)
		}
		for _, m := range everyMethod {
			got := ask(narrow, m.method, m.params, "beta")
			// A name of the same length that nothing is called.
			want := strings.ReplaceAll(ask(narrow, m.method, m.params, "zeta"), "zeta", "beta")
			if got != want {
				t.Errorf("modern %v: %s %s: about beta\n%s\nand about what there is not\n%s", modern, m.method, m.params, got, want)
			}
			about := strings.ReplaceAll(m.params, "NAME", "alpha")
			got = ask(narrow, m.method, m.params, "alpha")
			for _, word := range []string{"beta", "secret tool", "secret_ask", "about beta"} {
				if strings.Contains(got, word) {
					t.Errorf("modern %v: %s %s says %q: %s", modern, m.method, about, word, got)
				}
			}
			if !strings.Contains(about, "secret_alpha") && strings.Contains(got, "secret_alpha") {
				t.Errorf("modern %v: %s %s names a tool that is not allowed: %s", modern, m.method, about, got)
			}
			if strings.Contains(about, "secret_alpha") && strings.Contains(got, "result of") {
				t.Errorf("modern %v: %s %s calls a tool that is not allowed: %s", modern, m.method, about, got)
			}
		}
		if got := ask(narrow, "tools/call", `{"name":"alpha__open_alpha","arguments":{}}`, ""); !strings.Contains(got, "result of alpha") {
			t.Errorf("its own tool says %s", got)
		}
	}
}

// What one credential's call has left behind, another one's cannot have: kept results,
// sessions, and the state of questions.
func TestCredentialsShareNothing(t *testing.T) {
	t.Parallel()
	url, _, _, _ := twoServers(t)
	one, other := as(t, url, narrowToken, mcp.Options{}), as(t, url, otherToken, mcp.Options{})
	raw, err := one.CallTool(patient(t), "alpha__open_big_alpha", nil, mcp.RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	handle := gjson.GetBytes(raw, "structuredContent.error.handle").String()
	if handle == "" {
		t.Fatalf("no handle: %s", raw)
	}
	read := func(c *mcp.Client, handle string) string {
		raw, err := c.CallTool(patient(t), "result_read", json.RawMessage(`{"handle":"`+handle+`","limit":10}`), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := read(one, handle); !strings.Contains(got, "alpha alph") {
		t.Errorf("its own result: %s", got)
	}
	none := strings.Repeat("A", len(handle))
	if got, want := read(other, handle), strings.ReplaceAll(read(other, none), none, handle); got != want || strings.Contains(got, "alpha alph") {
		t.Errorf("another's result: %s\nand one that there is not: %s", got, want)
	}

	// A session.
	const initialize = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
	res, _ := exchange(t, "POST", url+"/mcp", message("initialize", initialize, false), "Authorization", "Bearer "+narrowToken)
	id := res.Header.Get("Mcp-Session-Id")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if res, text := exchange(t, method, url+"/mcp", message("tools/list", `{}`, false), "Authorization", "Bearer "+otherToken, "Mcp-Session-Id", id); res.StatusCode != 403 {
			t.Errorf("%s with another's session: %s %s", method, res.Status, text)
		}
	}
	if res, text := exchange(t, "POST", url+"/mcp", message("tools/list", `{}`, false), "Authorization", "Bearer "+narrowToken, "Mcp-Session-Id", id); res.StatusCode != 200 || !strings.Contains(text, "open_alpha") {
		t.Errorf("with its own session: %s %s", res.Status, text)
	}

	// The state of a question, which the server cannot tell its callers apart by.
	post := func(token, params string) string {
		_, text := exchange(t, "POST", url+"/mcp", message("tools/call", params, true), "Authorization", "Bearer "+token, "Mcp-Name", "alpha__open_ask_alpha")
		return text
	}
	asked := post(narrowToken, `{"name":"alpha__open_ask_alpha","arguments":{}}`)
	state := gjson.Get(asked, "result.requestState").String()
	if state == "" {
		t.Fatalf("nothing is asked: %s", asked)
	}
	answer := func(state string) string {
		return `{"name":"alpha__open_ask_alpha","arguments":{},"inputResponses":{"q":{"action":"accept","content":{}}},"requestState":"` + state + `"}`
	}
	for what, got := range map[string]string{
		"another's state":        post(otherToken, answer(state)),
		"a state that is forged": post(narrowToken, answer("u:state of alpha")),
		"a state that is cut":    post(narrowToken, answer(state[:len(state)-1])),
		"a state that is longer": post(narrowToken, answer(state+"x")),
	} {
		if strings.Contains(got, "alpha got") || gjson.Get(got, "error.code").Int() != -32602 {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := post(narrowToken, answer(state)); !strings.Contains(got, "alpha got state of alpha") {
		t.Errorf("its own state: %s", got)
	}
}

// A client's credential goes no further than the door: it is in no log, not even of
// the chattiest level, in no answer, and nothing of it reaches a server. What strangers
// send does not reach the log as they wrote it.
func TestCredentialsStayAtTheDoor(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, "alpha")
	opt := options(t, fmt.Sprintf("[host]\nexposure = \"direct\"\n[servers.alpha]\nurl = %q\n", u.url))
	logged := &log{}
	opt.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	url := endpoint(t, h, host.HTTPOptions{ScopedTokenFile: credentials(t), SSE: true})
	wrong := "a-wrong-token-which-is-long-enough-too"
	for _, modern := range []bool{true, false} {
		c := as(t, url, wideToken, mcp.Options{SkipProbe: !modern})
		if _, err := c.ListTools(patient(t)); err != nil {
			t.Fatal(err)
		}
		if raw, err := c.CallTool(patient(t), "alpha__open_alpha", nil, mcp.RequestOptions{}); err != nil || !strings.Contains(string(raw), "result of alpha") {
			t.Errorf("%s %v", raw, err)
		}
	}
	var answers strings.Builder
	for _, token := range []string{wrong, expiredToken, narrowToken} {
		for _, path := range []string{"/mcp", "/\x1b[2J%0a%1b]52;c;x", "/mcp?access_token=" + token} {
			req, err := http.NewRequestWithContext(patient(t), "POST", url, strings.NewReader("{"))
			if err != nil {
				t.Fatal(err)
			}
			req.URL.Opaque = strings.TrimPrefix(url, "http:") + strings.ReplaceAll(path, "\x1b", "%1b")
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Cookie", "session="+token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			fmt.Fprintf(&answers, "%v %s", res.Header, body)
		}
	}
	logged.mu.Lock()
	defer logged.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if logged.text.Len() == 0 || u.heard.Len() == 0 {
		t.Error("nothing is logged, or nothing was heard")
	}
	for where, text := range map[string]string{"the log": logged.text.String(), "what the server heard": u.heard.String(), "an answer": answers.String()} {
		for _, token := range []string{wideToken, narrowToken, expiredToken, wrong} {
			if strings.Contains(text, token[:20]) {
				t.Errorf("%s has %s", where, token)
			}
		}
	}
	if strings.ContainsAny(logged.text.String(), "\x1b\r") {
		t.Error("the log has control characters of a stranger")
	}
}
