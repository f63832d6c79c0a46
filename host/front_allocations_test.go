package host_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
)

// What the front does around a call costs few allocations beyond the call itself.
// net/http's own are not counted: a request is made once and served again and again.
func TestFrontAllocations(t *testing.T) {
	const arguments = `{"name":"0123456789012345678901234567890123456789"}`
	h := open(t, "[servers.hello]\nplugin = \"hello\"\nexposure = \"direct\"\n")
	count, bytes := allocated(t, func(ctx context.Context) error {
		_, err := h.Call(ctx, host.Request{Tool: "hello/greet", Arguments: []byte(arguments)})
		return err
	})
	f := h.Front()
	t.Cleanup(func() {
		if err := f.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name               string
		call               func(context.Context) error
		maxCount, maxBytes float64
	}{
		// Two and three KiB by themselves; under the race detector sync.Pool forgets at
		// random, gRPC's buffers among it, so that only a buffer per call is seen.
		{"stdio", stdioCall(t, f, arguments), 30, 16 << 10},
		{"http", httpCall(t, f, arguments), 45, 16 << 10},
	} {
		ownCount, ownBytes := allocated(t, c.call)
		t.Logf("%s: %.1f allocations and %.0f bytes per call; the call itself %.1f and %.0f", c.name, ownCount, ownBytes, count, bytes)
		if over := ownCount - count; over > c.maxCount {
			t.Errorf("%s: %.1f allocations more than the call itself, want at most %.0f", c.name, over, c.maxCount)
		}
		if over := ownBytes - bytes; over > c.maxBytes {
			t.Errorf("%s: %.0f bytes more than the call itself, want at most %.0f", c.name, over, c.maxBytes)
		}
	}
}

const frontHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func frontCall(arguments string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello__greet","arguments":%s}}`+"\n", arguments)
}

// stdioCall calls over a pair of pipes.
func stdioCall(t *testing.T, f *host.Front, arguments string) func(context.Context) error {
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.ServeStdio(context.WithoutCancel(t.Context()), in, out) }()
	t.Cleanup(func() {
		feed.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r := bufio.NewReaderSize(back, 64<<10)
	ask := func(message []byte) error {
		if _, err := feed.Write(message); err != nil {
			return err
		}
		line, err := r.ReadSlice('\n')
		if err == nil && !bytes.Contains(line, []byte(`"result"`)) {
			err = fmt.Errorf("the answer is %s", line)
		}
		return err
	}
	if err := ask([]byte(frontHello + "\n")); err != nil {
		t.Fatal(err)
	}
	message := frontCall(arguments)
	return func(context.Context) error { return ask(message) }
}

// httpCall calls the handler of a session.
func httpCall(t *testing.T, f *host.Front, arguments string) func(context.Context) error {
	post := func(body io.Reader, length int, header http.Header) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", body)
		r.ContentLength = int64(length)
		r.Header = header
		r.Header["Content-Type"] = []string{"application/json"}
		return r
	}
	opened := httptest.NewRecorder()
	f.Handler().ServeHTTP(opened, post(strings.NewReader(frontHello), len(frontHello), http.Header{}))
	message := frontCall(arguments)
	body := bytes.NewReader(message)
	r := post(body, len(message), http.Header{"Mcp-Session-Id": opened.Header()["Mcp-Session-Id"]})
	w := &discarding{header: http.Header{}}
	return func(context.Context) error {
		body.Reset(message)
		w.said = w.said[:0]
		f.Handler().ServeHTTP(w, r)
		if !bytes.Contains(w.said, []byte(`"result"`)) {
			return fmt.Errorf("the answer is %s", w.said)
		}
		return nil
	}
}

// discarding is a response that is not sent.
type discarding struct {
	header http.Header
	said   []byte
}

func (d *discarding) Header() http.Header { return d.header }

func (d *discarding) WriteHeader(int) {}

func (d *discarding) Write(b []byte) (int, error) {
	d.said = append(d.said, b...)
	return len(b), nil
}
