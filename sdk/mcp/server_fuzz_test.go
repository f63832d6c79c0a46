package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Whatever a client writes, each line of what it hears is one message, and the server
// ends when the client does.
func FuzzServeStdio(f *testing.F) {
	for _, seed := range []string{
		legacyHello("2025-06-18", `{"roots":{}}`) + "\n" + legacyCall("1", "echo", `{"text":"x"}`, `"progressToken":1`),
		modernCall("1", "steps", "{}") + "\r\n" + modernCall("1.0", "log", "{}"),
		listenBody("1", `{"toolsListChanged":true,"resourceSubscriptions":["u"]}`) + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]` + "\n{\n}\n\xff\n" + `{"jsonrpc":"2.0","id":{},"method":1,"params":[]}`,
		legacyHello("x", "[]") + "\n" + `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("wait")) || bytes.Contains(in, []byte("ask")) || bytes.Contains(in, []byte("pause")) || bytes.Contains(in, []byte(`\u`)) {
			return // these wait for somebody
		}
		d := &desk{}
		s := NewServer(d, ServerOptions{Name: "desk"})
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		var out bytes.Buffer
		if err := s.ServeStdio(ctx, bytes.NewReader(in), &out); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		for l := range bytes.Lines(out.Bytes()) {
			e, end, err := scanEnvelope(l, 0)
			if err != nil || e.version == nil || end != len(l)-1 || l[end] != '\n' {
				t.Fatalf("%q: wrote %q", in, l)
			}
		}
		_ = s.Close(ctx)
		for uri, n := range d.watched {
			if n != 0 {
				t.Fatalf("%q: %q is still watched", in, uri)
			}
		}
	})
}

// fuzzed serves one request and checks that the answer is one.
func fuzzed(t *testing.T, s *Server, r *http.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // of a subscription, for instance
	defer cancel()
	w := httptest.NewRecorder()
	s.HTTP().ServeHTTP(w, r.WithContext(ctx))
	body := w.Body.Bytes()
	switch kind := w.Header().Get("Content-Type"); {
	case w.Code < 200 || w.Code >= 500: // nothing that a client sends is the server's fault
		t.Fatalf("status %d: %s", w.Code, body)
	case kind == "application/json":
		if e, end, err := scanEnvelope(body, 0); err != nil || e.version == nil || skipSpace(body, end) != len(body) {
			t.Fatalf("answer %q", body)
		}
	case kind == "text/event-stream":
		events := newSSEReader(bytes.NewReader(body), 1<<20)
		defer events.release()
		for {
			e, err := events.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if checkDocument(e.data.data) != nil {
				t.Fatalf("event %q", e.data.data)
			}
		}
	case w.Code == http.StatusAccepted:
		if len(body) != 0 {
			t.Fatalf("%d with %q", w.Code, body)
		}
	}
}

func FuzzHTTPBody(f *testing.F) {
	for _, seed := range []string{modernCall("1", "steps", "{}"), modernCall(`"x"`, "mirror", `{"region":"r"}`), listenBody("1", `{"toolsListChanged":true}`), legacyHello("2025-11-25", "{}"), `[]`, `{"jsonrpc":"2.0","method":"x"}`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	s := NewServer(&desk{}, ServerOptions{Name: "desk", MaxBody: 1 << 20, MaxSessions: 10})
	session := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(legacyHello("2025-11-25", "{}")))
	r.Header.Set("Content-Type", "application/json")
	s.HTTP().ServeHTTP(session, r)
	f.Fuzz(func(t *testing.T, body []byte, modern bool) {
		r := httptest.NewRequest("POST", "/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if modern {
			e, _, _ := scanEnvelope(trim(body), 0)
			method, _ := text(e.method)
			name, _ := text(member(e.params, named[method]))
			for n, v := range modernHeader(method, headerValue(name)) {
				r.Header.Set(n, v)
			}
		} else {
			r.Header.Set("Mcp-Session-Id", session.Header().Get("Mcp-Session-Id"))
		}
		fuzzed(t, s, r)
	})
}

func FuzzHTTPHeaders(f *testing.F) {
	f.Add("POST", "application/json", "application/json, text/event-stream", "2026-07-28", "tools/call", "=?base64?bWlycm9y?=", "=?base64?w7w=?=", "", "")
	f.Add("GET", "", "text/event-stream;q=0", "2025-11-25", "", "", "", "id", "1-2")
	f.Add("DELETE", "text/plain; charset", "*/*", "x", "", "", "", "id", "")
	s := NewServer(&desk{}, ServerOptions{Name: "desk"})
	f.Fuzz(func(t *testing.T, method, kind, accept, version, called, name, param, session, event string) {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(modernCall("1", "mirror", `{"region":"ü"}`)))
		r.Method = method
		for n, v := range map[string]string{"Content-Type": kind, "Accept": accept, "Mcp-Protocol-Version": version, "Mcp-Method": called,
			"Mcp-Name": name, "Mcp-Param-Region": param, "Mcp-Session-Id": session, "Last-Event-Id": event} {
			if v != "" {
				r.Header[n] = []string{v}
			}
		}
		fuzzed(t, s, r)
	})
}
