package guard_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

// A stranger makes the process no larger, however many requests come from however
// many addresses, with whatever in them.
func TestStrangersLeaveNothing(t *testing.T) {
	g, err := guard.New(guard.Options{
		Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Hosts: []string{"example.com"},
		Issuers: []string{"https://login.example.com"}, Open: []string{"/healthz"},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := g.Wrap(http.HandlerFunc(echo))
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("%x", random.Uint64()) }
	flood := func(n int) {
		for range n {
			r := request(t, "Bearer "+word()+word())
			r.RemoteAddr = fmt.Sprintf("[%x:%x:%x:%x::1]:1", 0x2000+random.IntN(4000), random.IntN(65536), random.IntN(65536), random.IntN(65536))
			switch random.IntN(6) {
			case 0:
				r.Host = word()
			case 1:
				r.Header.Set("Origin", "https://"+word())
			case 2:
				r.Header.Del("Authorization")
			case 3:
				r.Method, r.URL.Path = word(), "/"+word()
			case 4:
				r.URL.Path = "/healthz"
			}
			handler.ServeHTTP(writer{}, r)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	flood(10_000) // what is bounded is full after this
	before := heap()
	flood(20_000)
	if after := heap(); after > before+256<<10 {
		t.Errorf("20,000 requests of strangers left %d KiB", (after-before)>>10)
	}
}

// A request whose headers do not come ends, and so does a connection that is silent.
func TestHeadersHaveToCome(t *testing.T) {
	s := guard.Server(http.HandlerFunc(echo), nil)
	s.ReadHeaderTimeout, s.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond // that they are set has a test of its own
	l, err := guard.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Close()
		<-served
	}()
	for what, sent := range map[string]string{
		"nothing":          "",
		"half a line":      "POST /mcp HT",
		"no end":           "POST /mcp HTTP/1.1\r\nHost: x\r\nX-A: b\r\n",
		"one request":      "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"too many headers": "GET /mcp HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("b", 200<<10),
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(c, sent) // the server may close before the end
		_, err = io.Copy(io.Discard, c)
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Errorf("%s: the connection stays open", what)
		}
		c.Close()
	}
}

// A handler does not wait forever for a client that does not read, nor for a body
// that does not come: it gets an error, and its place is free again.
func TestStalledClients(t *testing.T) {
	ended := make(chan error, 2)
	p := serve(t, guard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
			return
		}
		block := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				ended <- err
				return
			}
		}
	})
	p.guard.Hurry(100 * time.Millisecond)
	for _, start := range []string{
		"GET /write HTTP/1.1\r\nHost: localhost%s\r\n\r\n",
		"POST /read HTTP/1.1\r\nHost: localhost%s\r\nContent-Length: 10\r\n\r\n123",
	} {
		c, err := net.Dial("tcp", p.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, start, p.port())
	}
	for range 2 {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the handler got no error")
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a handler waits for a client that does nothing")
		}
	}
}

// One connection serves more than one request, those of another handler among them:
// what a deadline was set for is over.
func TestConnectionIsKept(t *testing.T) {
	t.Parallel()
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g.Hurry(200 * time.Millisecond)
	echo := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	mux := http.NewServeMux()
	mux.Handle("/mcp", g.Wrap(http.HandlerFunc(echo)))
	mux.HandleFunc("/other", echo)
	for name, s := range map[string]*http.Server{"own": guard.Server(mux, nil), "another": {Handler: mux}} {
		server := httptest.NewUnstartedServer(nil)
		server.Config = s
		server.Start()
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		for i, path := range []string{"/mcp", "/mcp", "/other", "/mcp"} {
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nab%d", path, server.Listener.Addr(), i)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s server, request %d: %v", name, i, err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != fmt.Sprint("ab", i) {
				t.Errorf("%s server, request %d: %q", name, i, body)
			}
			time.Sleep(300 * time.Millisecond) // longer than any deadline
		}
		c.Close()
		server.Close()
	}
}

// A client that takes no answers does not keep its connection: not even those that
// are small enough for buffers.
func TestAnswersHaveToBeTaken(t *testing.T) {
	t.Parallel()
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{}}}, echo)
	p.guard.Hurry(time.Second)
	c, err := net.Dial("tcp", p.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(30 * time.Second))
	request := []byte("GET /mcp HTTP/1.1\r\nHost: localhost" + p.port() + "\r\n\r\n")
	for { // until its buffers are full, and the server's, and the server gives up
		if _, err := c.Write(request); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Error("the server waits for a client that reads nothing")
			}
			return
		}
	}
}
