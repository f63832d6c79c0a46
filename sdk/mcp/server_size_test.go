package mcp

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
)

// What a warm call costs in memory: a few dozen small things, and of a large result
// one copy.
func TestServeAllocations(t *testing.T) {
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`
	for _, test := range []struct {
		name, result   string
		objects, bytes float64
	}{
		{"small", smallResult, 60, 8 << 10},
		{"large", large, 60, 1.2 * (1 << 20)},
	} {
		t.Run("stdio/"+test.name, func(t *testing.T) {
			s := NewServer(counter{[]byte(test.result)}, ServerOptions{Name: "n"})
			in, feed, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			back, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.ServeStdio(context.Background(), in, out) }()
			r := bufio.NewReaderSize(back, 4<<20)
			line := []byte(modernCall("1", "echo", `{"x":1}`) + "\n")
			checkCost(t, test.objects, test.bytes, func() {
				if _, err := feed.Write(line); err != nil {
					t.Fatal(err)
				}
				if _, err := r.ReadSlice('\n'); err != nil {
					t.Fatal(err)
				}
			})
			feed.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			_ = s.Close(t.Context())
		})
		t.Run("http/"+test.name, func(t *testing.T) {
			s := NewServer(counter{[]byte(test.result)}, ServerOptions{Name: "n"})
			h := s.HTTP()
			header := http.Header{"Content-Type": jsonType, "Accept": {"application/json, text/event-stream"}}
			for n, v := range modernHeader("tools/call", "echo") {
				header.Set(n, v)
			}
			body := modernCall("1", "echo", `{"x":1}`)
			w := &nowhere{header: http.Header{}}
			checkCost(t, test.objects+30, test.bytes, func() {
				r, _ := http.NewRequestWithContext(t.Context(), "POST", "/mcp", strings.NewReader(body))
				r.Header = header
				h.ServeHTTP(w, r)
			})
			if w.written < len(test.result) {
				t.Errorf("%d bytes were written", w.written)
			}
			_ = s.Close(t.Context())
		})
	}
}

// nowhere is a response that nobody reads.
type nowhere struct {
	header  http.Header
	written int
}

func (n *nowhere) Header() http.Header { return n.header }
func (n *nowhere) WriteHeader(int)     {}
func (n *nowhere) Write(p []byte) (int, error) {
	n.written += len(p)
	return len(p), nil
}

// checkCost measures warm calls of f in this whole process.
func checkCost(t *testing.T, objects, bytes float64, f func()) {
	t.Helper()
	f() // what is made once
	const calls = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	if got := float64(after.Mallocs-before.Mallocs) / calls; got > objects {
		t.Errorf("%v objects a call, want %v at most", got, objects)
	}
	if got := float64(after.TotalAlloc-before.TotalAlloc) / calls; got > bytes {
		t.Errorf("%v bytes a call, want %v at most", got, bytes)
	}
}
