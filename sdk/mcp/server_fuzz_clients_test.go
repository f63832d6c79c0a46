package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Two clients with sessions of their own, in any order: each answer is to the request
// at hand and of whoever made it, and nobody gets at another's session.
func FuzzSessions(f *testing.F) {
	f.Add([]byte{0, 1, 2, 2, 3, 2, 4, 0, 1, 2})
	f.Add([]byte("opened, used, lost, and used again by somebody else"))
	f.Fuzz(func(t *testing.T, script []byte) {
		const most = 4
		s := NewServer(&desk{}, ServerOptions{Name: "desk", MaxSessions: most, Principal: func(r *http.Request) any { return r.Header.Get("X-Who") }})
		defer s.Close(t.Context())
		type session struct{ id, who string }
		var opened []session
		for i, b := range script[:min(len(script), 64)] {
			who := []string{"ann", "eve"}[b>>7]
			at := session{id: "none"}
			if len(opened) > 0 {
				at = opened[int(b>>3)%len(opened)]
			}
			header := map[string]string{"X-Who": who, "Mcp-Session-Id": at.id}
			own := at.who == who
			switch b % 5 {
			case 0:
				delete(header, "Mcp-Session-Id")
				w := inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), header)
				if w.Code != http.StatusOK {
					t.Fatalf("initialize: %d %s", w.Code, w.Body)
				}
				opened = append(opened, session{w.Header().Get("Mcp-Session-Id"), who})
			case 1, 2:
				nonce := fmt.Sprintf("%s-%d", who, i)
				w := inBubble(s, t.Context(), "POST", legacyCall(fmt.Sprint(i), "echo", `{"text":"`+nonce+`"}`, ""), header)
				want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, i, nonce)
				switch body := strings.TrimSpace(w.Body.String()); {
				case w.Code == http.StatusOK && (!own || body != want):
					t.Fatalf("%s in a session of %s got %s, want %s", who, at.who, body, want)
				case w.Code != http.StatusOK && w.Code != http.StatusNotFound && w.Code != http.StatusForbidden,
					w.Code == http.StatusForbidden && own:
					t.Fatalf("%d %s", w.Code, body)
				}
			case 3:
				if w := inBubble(s, t.Context(), "DELETE", "", header); w.Code == http.StatusNoContent && !own {
					t.Fatal("somebody else has ended a session")
				}
			case 4:
				header["Last-Event-Id"] = fmt.Sprintf("%d-%d", b>>4, b>>6)
				if w := inBubble(s, t.Context(), "GET", "", header); w.Code < 400 || w.Code >= 500 {
					t.Fatalf("a stream that there is not: %d %s", w.Code, w.Body)
				}
			}
		}
		s.guests.mu.Lock()
		defer s.guests.mu.Unlock()
		if len(s.guests.byID) > most || len(s.guests.byID) != s.guests.used.Len() {
			t.Fatalf("%d sessions, %d in order", len(s.guests.byID), s.guests.used.Len())
		}
	})
}

// The message endpoint of the HTTP+SSE transport: whatever is posted with whatever
// session, what comes on the stream is messages, to the one whose stream it is, and
// the stream goes on.
func FuzzOldMessage(f *testing.F) {
	for _, seed := range []string{legacyHello("2024-11-05", "{}"), legacyCall("1", "echo", `{"text":"x"}`, ""), modernCall("1", "steps", "{}"), `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "{", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`} {
		f.Add([]byte(seed), "", true)
		f.Add([]byte(seed), "x", true)
		f.Add([]byte(seed), "", false)
	}
	s := NewServer(&desk{}, ServerOptions{Name: "desk", MaxBody: 1 << 20, Principal: func(r *http.Request) any { return r.Header.Get("X-Who") }})
	stream, message := s.SSE()
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		r := httptest.NewRequestWithContext(ctx, "GET", "/sse", nil)
		r.Header.Set("X-Who", "ann")
		stream.ServeHTTP(&piped{header: http.Header{}, out: out}, r)
		out.Close()
	})
	f.Cleanup(func() {
		cancel()
		in.Close()
		serving.Wait()
		_ = s.Close(context.Background())
	})
	lines := bufio.NewReaderSize(in, 1<<20)
	next := func(t testing.TB) []byte {
		for {
			l, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := bytes.CutPrefix(l, []byte("data: ")); ok {
				return bytes.TrimSuffix(data, []byte("\n"))
			}
		}
	}
	endpoint, err := url.Parse(string(next(f)))
	if err != nil {
		f.Fatal(err)
	}
	id := endpoint.Query().Get("sessionId")
	post := func(body []byte, session, who string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/mcp/message?sessionId="+url.QueryEscape(session), bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Who", who)
		w := httptest.NewRecorder()
		message.ServeHTTP(w, r)
		return w
	}
	n := 0
	f.Fuzz(func(t *testing.T, body []byte, session string, own bool) {
		if bytes.Contains(body, []byte("wait")) || bytes.Contains(body, []byte("ask")) || bytes.Contains(body, []byte("pause")) ||
			bytes.Contains(body, []byte(`\u`)) || bytes.Contains(body, []byte("subscriptions/listen")) {
			return // these wait for somebody
		}
		who := "eve"
		if own {
			who = "ann"
		}
		if session == "" {
			session = id
		}
		switch w := post(body, session, who); {
		case session != id && w.Code != http.StatusNotFound, session == id && !own && w.Code != http.StatusForbidden, w.Code >= 500:
			t.Fatalf("%s at %q: %d %s", who, session, w.Code, w.Body)
		}
		n++
		last := fmt.Sprintf(`"the last word %d"`, n)
		if w := post([]byte(`{"jsonrpc":"2.0","id":`+last+`,"method":"ping"}`), id, "ann"); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for {
			m := next(t)
			e, end, err := scanEnvelope(m, 0)
			if err != nil || e.version == nil || end != len(m) {
				t.Fatalf("%q: wrote %q", body, m)
			}
			if string(e.id) == last {
				return
			}
		}
	})
}

// piped is a response that somebody reads as it is written.
type piped struct {
	header http.Header
	out    io.Writer
}

func (p *piped) Header() http.Header         { return p.header }
func (p *piped) WriteHeader(int)             {}
func (p *piped) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *piped) Flush()                      {}

// Whatever a request says of itself in _meta, the answer is one to it, and the same
// over stdio, where there are no headers to agree with.
func FuzzMeta(f *testing.F) {
	for _, seed := range []string{
		strings.TrimPrefix(modernMeta, `"_meta":`), `{}`, `[]`, `null`, `{"progressToken":{}}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}`,
		`{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/logLevel":"x"}`,
		`{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":[],"traceparent":"00-"}`,
	} {
		f.Add([]byte(seed), "2026-07-28")
	}
	s := NewServer(&desk{}, ServerOptions{Name: "desk"})
	f.Fuzz(func(t *testing.T, meta []byte, version string) {
		if bytes.ContainsAny(meta, "\n") {
			return // another line
		}
		body := `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"steps","arguments":{},"_meta":` + string(meta) + `}}`
		h := modernHeader("tools/call", "steps")
		if validHeader(version) {
			h["MCP-Protocol-Version"] = version
		}
		w := inBubble(s, t.Context(), "POST", body, h)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code != http.StatusOK && !strings.Contains(w.Body.String(), `"id":77,`) && !strings.Contains(w.Body.String(), `"id":null,`) && w.Header().Get("Content-Type") == "application/json" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), strings.NewReader(body+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for l := range bytes.Lines(out.Bytes()) {
			e, end, err := scanEnvelope(l, 0)
			if err != nil || end != len(l)-1 {
				t.Fatalf("wrote %q", l)
			}
			if e.method == nil {
				answers++
			}
		}
		if answers != 1 {
			t.Fatalf("%d answers to %q: %q", answers, body, out.String())
		}
	})
}

func validHeader(v string) bool {
	for _, c := range []byte(v) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return v != ""
}
