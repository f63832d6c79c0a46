package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// counter answers every request with the same result, which costs next to nothing.
type counter struct{ result json.RawMessage }

func (counter) Describe(context.Context, *Caller) Description { return Description{} }

func (c counter) Handle(context.Context, *Incoming) (json.RawMessage, error) { return c.result, nil }

func benchServer(b *testing.B, result string) *Server {
	s := NewServer(counter{json.RawMessage(result)}, ServerOptions{Name: "bench", Version: "1"})
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

const smallResult = `{"content":[{"type":"text","text":"ok"}]}`

// A warm tools/call over stdio, the client's share included.
func BenchmarkServeStdio(b *testing.B) {
	for _, test := range []struct{ name, hello, call, result string }{
		{"modern", "", modernCall("1", "echo", `{"x":1}`), smallResult},
		{"legacy", legacyHello("2025-11-25", "{}"), legacyCall("1", "echo", `{"x":1}`, `"progressToken":1`), smallResult},
		{"modern1MiB", "", modernCall("1", "echo", `{"x":1}`), `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := benchServer(b, test.result)
			in, feed, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			back, out, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.ServeStdio(context.Background(), in, out) }()
			r := bufio.NewReaderSize(back, 64<<10)
			ask := func(l []byte) {
				if _, err := feed.Write(l); err != nil {
					b.Fatal(err)
				}
				for {
					_, err := r.ReadSlice('\n')
					if err == nil {
						return
					}
					if err != bufio.ErrBufferFull {
						b.Fatal(err)
					}
				}
			}
			if test.hello != "" {
				ask([]byte(test.hello + "\n"))
			}
			line := []byte(test.call + "\n")
			b.SetBytes(int64(len(test.result)))
			b.ReportAllocs()
			for b.Loop() {
				ask(line)
			}
			feed.Close()
			<-ended
		})
	}
}

// A warm tools/call through the handler alone, and beside it one that only reads the
// body and answers with the same bytes.
func BenchmarkServeHTTP(b *testing.B) {
	echo := []byte(modernCall("1", "echo", `{"x":1}`))
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":` + smallResult + "}\n")
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header()["Content-Type"] = jsonType
		_, _ = w.Write(answer)
	})
	legacy := func(s *Server) http.Header {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(legacyHello("2025-11-25", "{}")))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.HTTP().ServeHTTP(w, r)
		return http.Header{"Mcp-Session-Id": w.Header()["Mcp-Session-Id"]}
	}
	modern := func(*Server) http.Header {
		return http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
	}
	for _, test := range []struct {
		name   string
		body   []byte
		header func(*Server) http.Header
		floor  bool
	}{
		{"floor", echo, modern, true},
		{"modern", echo, modern, false},
		{"legacy", []byte(legacyCall("1", "echo", `{"x":1}`, `"progressToken":1`)), legacy, false},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := benchServer(b, smallResult)
			handler := s.HTTP()
			if test.floor {
				handler = floor
			}
			header := test.header(s)
			header["Content-Type"] = jsonType
			header["Accept"] = []string{"application/json, text/event-stream"}
			h := httptest.NewServer(handler)
			defer h.Close()
			c, err := net.Dial("tcp", h.Listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var request bytes.Buffer
			r, _ := http.NewRequest("POST", h.URL, bytes.NewReader(test.body))
			r.Header = header
			if err := r.Write(&request); err != nil {
				b.Fatal(err)
			}
			in := bufio.NewReader(c)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(request.Bytes()); err != nil {
					b.Fatal(err)
				}
				// The client's share: the header to its end, then the body by its length.
				length := 0
				for {
					l, err := in.ReadSlice('\n')
					if err != nil {
						b.Fatal(err)
					}
					if len(l) == 2 {
						break
					}
					if v, ok := bytes.CutPrefix(l, []byte("Content-Length: ")); ok {
						for _, d := range bytes.TrimSpace(v) {
							length = length*10 + int(d-'0')
						}
					}
				}
				if _, err := in.Discard(length); err != nil || length == 0 {
					b.Fatal(length, err)
				}
			}
		})
	}
}
