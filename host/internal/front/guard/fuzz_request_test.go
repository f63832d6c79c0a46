package guard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	fuzzToken  = "the-only-token-that-counts-in-this-test"
	fuzzSecret = "what-nobody-is-told"
)

type holder struct{}

func (holder) Authenticate(_ context.Context, token string) (*Principal, error) {
	if token == fuzzToken {
		return &Principal{ID: "token:a"}, nil
	}
	return nil, ErrUnknown
}

// Whatever bytes come over a connection: who has not shown the token is told nothing,
// no answer is the server's fault, and the connection ends.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"POST /mcp HTTP/1.1\r\nHost: example.com\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: example.com\r\nAuthorization: Bearer " + fuzzToken + "\r\nContent-Length: 2\r\n\r\n{}",
		"GET /healthz HTTP/1.1\r\nHost: example.com\r\n\r\nGET /mcp HTTP/1.1\r\nHost: example.com\r\nOrigin: null\r\n\r\n",
		"POST http://example.com/mcp HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: example.com\r\nAccess-Control-Request-Method: POST\r\nOrigin: https://app.example.com\r\n\r\n",
		"GET /.well-known/oauth-protected-resource/mcp HTTP/1.0\r\nHost: example.com\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nHost: example.com\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	g, err := New(Options{
		Auth: []Authenticator{holder{}}, Hosts: []string{"example.com"}, Origins: []string{"https://app.example.com"},
		Open: []string{"/healthz"}, Issuers: []string{"https://login.example.com"}, Limits: Limits{Body: 1000, FailuresPerSecond: -1},
	})
	if err != nil {
		f.Fatal(err)
	}
	g.Hurry(50 * time.Millisecond)
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		if p := FromContext(r.Context()); p == nil || p.ID != "token:a" {
			panic("let through without a principal")
		}
		for _, name := range []string{"Authorization", "Cookie"} {
			if r.Header.Get(name) != "" {
				panic("the credential is passed on")
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, fuzzSecret)
	})
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := Server(g.Wrap(next), nil)
	server.ReadHeaderTimeout, server.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	f.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	f.Fuzz(func(t *testing.T, sent []byte) {
		here, there := net.Pipe()
		l.conns <- there
		_ = here.SetDeadline(time.Now().Add(20 * time.Second))
		var sending sync.WaitGroup
		sending.Go(func() { _, _ = here.Write(sent) })
		var heard bytes.Buffer
		in := bufio.NewReader(io.TeeReader(here, &heard))
		for {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Fatalf("%q: the connection stays open", sent)
				}
				break
			}
			// 505 and 501 are net/http's word on a version and on an encoding.
			if res.StatusCode >= 500 && res.StatusCode != http.StatusHTTPVersionNotSupported && res.StatusCode != http.StatusNotImplemented {
				t.Fatalf("%q: %s", sent, res.Status)
			}
			_, _ = io.Copy(io.Discard, res.Body)
		}
		here.Close()
		sending.Wait()
		if strings.Contains(heard.String(), fuzzSecret) && !bytes.Contains(sent, []byte(fuzzToken)) {
			t.Fatalf("%q: told %q", sent, heard.String())
		}
	})
}

// pipes is a listener of connections in the process.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, errors.New("closed")
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
