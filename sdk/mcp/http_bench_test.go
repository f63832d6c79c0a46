package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// quick answers every request with the same result, which costs next to nothing.
func quick(kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, method := member(body, "id"), r.Header.Get("Mcp-Method")
		result := `{"content":[{"type":"text","text":"ok"}]}`
		if method == "server/discover" {
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{}}`
		}
		if kind == "sse" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
			return
		}
		answerWith(w, id, result)
	})
}

// BenchmarkHTTPCall is a tool call over HTTP; BenchmarkHTTPFloor is the same
// exchange by net/http alone.
func BenchmarkHTTPCall(b *testing.B) {
	for _, kind := range []string{"json", "sse"} {
		s := httptest.NewServer(quick(kind))
		defer s.Close()
		c, err := Dial(b.Context(), Endpoint{URL: s.URL}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close(context.Background())
		args := json.RawMessage(`{"x":1}`)
		one := func(b *testing.B) {
			if _, err := c.CallTool(context.Background(), "echo", args, RequestOptions{}); err != nil {
				b.Error(err)
			}
		}
		b.Run(kind+"/one", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one(b)
			}
		})
		b.Run(kind+"/sixteen", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one(b)
				}
			})
		})
	}
}

func BenchmarkHTTPFloor(b *testing.B) {
	one := floor(b)
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
}

// floor returns one such exchange.
func floor(t testing.TB) func() {
	s := httptest.NewServer(quick("json"))
	message := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"x":1},"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"collet","version":"0"}}}}`)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	client := http.Client{Transport: transport}
	return func() {
		r, err := http.NewRequest("POST", s.URL, bytes.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "echo")
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// A call costs little besides what net/http takes for the same exchange, both
// ends of it counted.
func TestHTTPAllocations(t *testing.T) {
	const limit = 25
	bare := testing.AllocsPerRun(300, floor(t))
	for _, kind := range []string{"json", "sse"} {
		c := dial(t, Endpoint{URL: listenOn(t, quick(kind)).URL}, Options{})
		args := json.RawMessage(`{"x":1}`)
		got := testing.AllocsPerRun(300, func() {
			if _, err := c.CallTool(context.Background(), "echo", args, RequestOptions{}); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %.0f allocations per call, bare net/http %.0f", kind, got, bare)
		if got > bare+limit {
			t.Errorf("%s: %.0f allocations per call, bare net/http %.0f", kind, got, bare)
		}
	}
}
