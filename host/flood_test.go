package host_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
)

// log is what a host logs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Len()
}

// served is a host's face as collet serve --http has it: with its own listener and
// server, and one token.
func served(t *testing.T) (address string, logged *log) {
	address, logged, _ = servedCounting(t)
	return address, logged
}

// counted counts the bytes that were read of all connections that came.
type counted struct {
	net.Listener
	read atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, &c.read}, nil
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// has waits until so many bytes have been read.
func (c *counted) has(t *testing.T, bytes int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); c.read.Load() < bytes; time.Sleep(time.Millisecond) { // nothing tells of it
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes were read of %d", c.read.Load(), bytes)
		}
	}
}

func servedCounting(t *testing.T) (address string, logged *log, in *counted) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(sharedToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	logged = &log{}
	opt := options(t, "[servers.n]\nplugin = \"hello\"\nexposure = \"direct\"\n")
	opt.Log = slog.New(slog.NewTextHandler(logged, nil))
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	face, err := h.Handler(host.HTTPOptions{TokenFile: tokens, SSE: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := face.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	in = &counted{Listener: l}
	go func() { ended <- face.Serve(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(patience); !face.Settled(); time.Sleep(10 * time.Millisecond) { // nothing starts any more
		if time.Now().After(deadline) {
			t.Fatal("the servers do not start")
		}
	}
	return l.Addr().String(), logged, in
}

// retained is how many bytes the heap and the stacks hold.
func retained() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// dialTo opens a connection that has said something.
func dialTo(t *testing.T, address, said string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, said); err != nil {
		t.Fatal(err)
	}
	return c
}

// A stranger's connections cost what they have said, up to the limit of headers, and
// nothing once they are gone.
func TestStrangersConnections(t *testing.T) {
	address, _, in := servedCounting(t)
	head := "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\n"
	const conns = 400
	open := func(said string) (all []net.Conn) {
		before := in.read.Load()
		for range conns {
			all = append(all, dialTo(t, address, said))
		}
		in.has(t, before+int64(conns*len(said)))
		return all
	}
	shut := func(all []net.Conn) {
		for _, c := range all {
			c.Close()
		}
	}
	shut(open(head)) // what is there once, is
	before := settle(t, 0)
	for what, half := range map[string]struct {
		said string
		most int64 // bytes of each, in which the test's own end is included
	}{
		"silent":          {"", 32 << 10},
		"half a line":     {"POST /m", 32 << 10},
		"half of headers": {head, 32 << 10},
		"long headers":    {head + "X-A: " + strings.Repeat("a", 30<<10), 128 << 10},
		"many headers":    {head + strings.Repeat("X-A: b\r\n", 3800), 400 << 10},
	} {
		all := open(half.said)
		grown := (retained() - before) / conns
		t.Logf("%s: %d bytes each", what, grown)
		if grown > half.most {
			t.Errorf("%s: each connection costs %d bytes, more than %d", what, grown, half.most)
		}
		shut(all)
		settle(t, before)
	}
}

// Of a request without a credential nothing is read but its headers: neither a body
// that is announced nor one without an end, and a client that sends one is got rid of.
// With a credential a body has a limit.
func TestStrangersBodies(t *testing.T) {
	address, _ := served(t)
	head := "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\n"
	token := "Authorization: Bearer " + sharedToken + "\r\n"
	before := settle(t, 0)
	for what, test := range map[string]struct {
		said string
		want int
		then string // sent again and again
	}{
		"announced":               {head + "Content-Length: 4000000000\r\n\r\n", 401, ""},
		"slow":                    {head + "Content-Length: 100\r\n\r\n{", 401, ""},
		"without an end":          {head + "Transfer-Encoding: chunked\r\n\r\n", 401, "4000\r\n" + strings.Repeat("x", 0x4000) + "\r\n"},
		"without an end, to SSE":  {strings.Replace(head, "/mcp", "/mcp/message?sessionId=x", 1) + "Transfer-Encoding: chunked\r\n\r\n", 401, "4000\r\n" + strings.Repeat("x", 0x4000) + "\r\n"},
		"to an open path":         {strings.Replace(head, "POST /mcp", "GET /healthz", 1) + "Transfer-Encoding: chunked\r\n\r\n", 200, "4000\r\n" + strings.Repeat("x", 0x4000) + "\r\n"},
		"too long headers":        {head + "X-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", 431, ""},
		"two lengths":             {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, ""},
		"length and chunks":       {head + "Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 401, ""},
		"announced, with a token": {head + token + "Content-Length: 4000000000\r\n\r\n", 413, ""},
		"endless, with a token":   {head + token + "Transfer-Encoding: chunked\r\n\r\n", 413, "4000\r\n" + strings.Repeat("x", 0x4000) + "\r\n"},
	} {
		c := dialTo(t, address, "")
		var sending sync.WaitGroup
		sending.Go(func() {
			_, err := io.WriteString(c, test.said)
			for sent := 0; test.then != "" && err == nil; sent += len(test.then) { // until the server has had enough
				if sent > 64<<20 {
					t.Errorf("%s: %d bytes were taken", what, sent)
					return
				}
				_, err = io.WriteString(c, test.then)
			}
		})
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if res.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", what, res.Status, test.want)
		}
		if test.then != "" {
			sending.Wait()
		}
		c.Close()
		sending.Wait()
	}
	settle(t, before)
}

// However many requests without a credential come, with whatever sessions, on whatever
// paths, the process does not grow, opens no session, and logs little.
func TestStrangersRequests(t *testing.T) {
	address, logged := served(t)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	flood := func(n int) {
		c := dialTo(t, address, "")
		defer c.Close()
		in := bufio.NewReader(c)
		for i := range n {
			_ = c.SetDeadline(time.Now().Add(patience))
			method, path, more := []string{"POST", "GET", "DELETE"}[i%3], []string{"/mcp", "/sse", "/mcp/message", "/else"}[i%4], ""
			if i%5 > 0 {
				more = fmt.Sprintf("Authorization: Bearer %040d\r\n", i)
			}
			_, err := fmt.Fprintf(c, "%s %s?sessionId=s%d HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMcp-Session-Id: session-%d\r\n%sContent-Length: %d\r\n\r\n%s",
				method, path, i, address, i, more, len(initialize), initialize)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != 401 && res.StatusCode != 429 || res.Header.Get("Mcp-Session-Id") != "" {
				t.Fatalf("%s %s: %s %v", method, path, res.Status, res.Header)
			}
		}
	}
	flood(2000)
	before, said := settle(t, 0), logged.size()
	flood(20_000)
	settle(t, before)
	if more := logged.size() - said; more > 16<<10 {
		t.Errorf("20,000 refusals have logged %d bytes", more)
	}
	if said == 0 {
		t.Error("nothing is logged")
	}
}

// settle waits until what requests held is free again, and returns what is held; 0 is
// the first time.
func settle(t *testing.T, before int64) int64 {
	t.Helper()
	last := retained()
	for deadline := time.Now().Add(patience); ; {
		time.Sleep(100 * time.Millisecond)
		now := retained()
		if before == 0 && now >= last || before > 0 && now < before+1<<20 {
			return now
		}
		if time.Now().After(deadline) {
			t.Errorf("%d bytes more than before are held", now-before)
			return now
		}
		last = now
	}
}
