package mcp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A client of 2025-03-26 may send batches over stdio; no other one may.
func TestStdioBatch(t *testing.T) {
	d := &desk{}
	c := newConsole(t, deskServer(t, d, ServerOptions{}))
	answers := func(n int) (got []string) {
		for range n {
			got = append(got, c.hear())
		}
		slices.Sort(got)
		return got
	}
	c.say(legacyHello("2025-03-26", `{"roots":{}}`))
	c.hear()
	c.say(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1,"method":"ping"},` +
		`{"jsonrpc":"2.0","id":2,"method":"x/y"},3,` + strings.Replace(legacyHello("2025-11-25", `{}`), `"id":0`, `"id":4`, 1) + `]`)
	want := []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid Request: this must not be part of a batch"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the message is no JSON object"}}`,
	}
	if got := answers(len(want)); !slices.Equal(got, want) {
		t.Errorf("answers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// An answer to the server may be in one, too.
	c.expect(legacyCall("5", "ask", `{"method":"roots/list"}`, ""), `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`)
	c.expect(`[{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}]`, `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{\"roots\":[]}"}]}}`)
	for _, none := range []string{`[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		c.say(none)
		if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":`) {
			t.Errorf("%s: %s", none, got)
		}
	}
	c.say(legacyHello("2025-06-18", `{}`))
	c.hear()
	c.expect(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`)
}

// Over HTTP the answers are events of one stream, or an array.
func TestHTTPBatch(t *testing.T) {
	url := publish(t, deskServer(t, &desk{}, ServerOptions{}))
	h := hello(t, url, "2025-03-26", "{}", nil)
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"x/y"},` +
		`{"jsonrpc":"2.0","id":1,"method":"initialize"},[],{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + modernMeta + `}}]`
	want := []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: this must not be part of a batch"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Invalid Request: this must not be part of a batch"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`,
	}
	sorted := func(lines []string) []string { slices.Sort(lines); return lines }

	resp, body := exchangeWith(t, "POST", url, batch, h)
	var got []string
	for line := range strings.Lines(body + "\n") {
		if m, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			got = append(got, m)
		}
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || !slices.Equal(sorted(got), want) {
		t.Errorf("%s %v:\n%s", resp.Status, resp.Header, body)
	}

	plain := map[string]string{"Accept": "application/json"}
	for name, value := range h {
		plain[name] = value
	}
	resp, body = exchangeWith(t, "POST", url, batch, plain)
	got = strings.Split(strings.TrimSuffix(strings.TrimPrefix(body, "["), "]"), `,{"jsonrpc"`)
	for i := range got[1:] {
		got[i+1] = `{"jsonrpc"` + got[i+1]
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" || !slices.Equal(sorted(got), want) {
		t.Errorf("%s %v:\n%s", resp.Status, resp.Header, body)
	}

	resp, body = exchangeWith(t, "POST", url, `[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":1,"result":{}}]`, h)
	if resp.StatusCode != http.StatusAccepted || body != "" {
		t.Errorf("nothing was asked: %s %s", resp.Status, body)
	}
	h["Mcp-Session-Id"] = "nobody's"
	if resp, _ = exchangeWith(t, "POST", url, batch, h); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no session: %s", resp.Status)
	}
}
