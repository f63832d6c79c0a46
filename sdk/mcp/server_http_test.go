package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
