package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener accepts the connections of dial, inside a bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// A client over HTTP that does not read is gone after a while, whatever it is sent,
// and what it asked for ends.
func TestHTTPUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{canceled: make(chan string, 1)}
		s := NewServer(d, ServerOptions{Name: "desk", KeepAlive: time.Minute})
		l := &pipeListener{conns: make(chan net.Conn), over: make(chan struct{})}
		h := &http.Server{Handler: s.HTTP()}
		var serving sync.WaitGroup
		serving.Go(func() { _ = h.Serve(l) })
		ask := func(body string, header map[string]string) (net.Conn, *bufio.Reader) {
			c := l.dial()
			r, _ := http.NewRequest("POST", "http://h/mcp", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			for n, v := range header {
				r.Header.Set(n, v)
			}
			if err := r.Write(c); err != nil {
				t.Fatal(err)
			}
			return c, bufio.NewReader(c)
		}
		// A large answer: the connection is closed in the middle of it.
		c, _ := ask(modernCall("1", "big", `{"bytes":4000000}`), modernHeader("tools/call", "big"))
		time.Sleep(writeLimit + time.Second)
		synctest.Wait()
		if n, err := c.Read(make([]byte, 1<<20)); err == nil && n > 64<<10 {
			t.Errorf("%d bytes can still be read", n)
		}
		c.Close()

		// A subscription, whose client reads the acknowledgement alone.
		c, in := ask(listenBody("1", `{"toolsListChanged":true,"resourceSubscriptions":["u"]}`), modernHeader("subscriptions/listen", ""))
		for {
			if line, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			} else if strings.Contains(line, "acknowledged") {
				break
			}
		}
		for range 10 * maxReplies { // must not block
			s.Notify("notifications/tools/list_changed", nil, nil)
		}
		if d.watching("u") != 1 {
			t.Error("the subscription is over")
		}
		time.Sleep(writeLimit + time.Second)
		synctest.Wait()
		if d.watching("u") != 0 {
			t.Error("the subscription goes on")
		}
		c.Close()

		// A call, whose progress nobody reads.
		c, _ = ask(strings.Replace(modernCall("1", "wait", "{}"), `"_meta":{`, `"_meta":{"progressToken":1,`, 1), modernHeader("tools/call", "wait"))
		<-d.canceled // the stream that began after quickAnswer could not be written
		c.Close()

		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		_ = h.Close()
		serving.Wait()
	})
}

// who is a principal that is another value each time.
type who struct{ id, rights string }

// callers remembers who called.
type callers struct{ seen chan *Caller }

type traceKey struct{}

func (callers) Describe(context.Context, *Caller) Description { return Description{} }

func (h callers) Handle(ctx context.Context, r *Incoming) (json.RawMessage, error) {
	if trace, _ := ctx.Value(traceKey{}).(string); trace != "t" && r.Caller.Principal != nil {
		return nil, errors.New("no trace")
	}
	h.seen <- r.Caller
	return json.RawMessage(`{}`), nil
}

// A handler learns who calls.
func TestCallers(t *testing.T) {
	h := callers{make(chan *Caller, 1)}
	s := NewServer(h, ServerOptions{Name: "n",
		Principal:     func(r *http.Request) any { return who{r.Header.Get("X-Who"), r.Header.Get("X-Rights")} },
		SamePrincipal: func(a, b any) bool { return a.(who).id == b.(who).id },
	})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.HTTP().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), traceKey{}, "t")))
	}))
	t.Cleanup(front.Close)
	url := front.URL
	check := func(want Caller, got *Caller) {
		t.Helper()
		if got.Version != want.Version || got.Modern != want.Modern || string(got.Info) != string(want.Info) ||
			string(got.Capabilities) != string(want.Capabilities) || got.Session != want.Session || got.Principal != want.Principal {
			t.Errorf("the caller is %+v, want %+v", got, want)
		}
	}
	header := modernHeader("x", "")
	header["X-Who"] = "ann"
	meta := strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{ "name":"c" },`, 1)
	exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"x","params":{`+meta+`}}`, header)
	check(Caller{Version: "2026-07-28", Modern: true, Info: json.RawMessage(`{ "name":"c" }`), Capabilities: json.RawMessage(`{}`), Principal: who{"ann", ""}}, <-h.seen)

	session := hello(t, url, "2025-06-18", `{"roots":{}}`, map[string]string{"X-Who": "eve"})
	exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"x"}`, session)
	check(Caller{Version: "2025-06-18", Info: json.RawMessage(`{"name":"c","version":"1"}`), Capabilities: json.RawMessage(`{"roots":{}}`),
		Session: session["Mcp-Session-Id"], Principal: who{"eve", ""}}, <-h.seen)
	session["X-Rights"] = "fewer" // a credential may come to allow less
	exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"x"}`, session)
	if got := (<-h.seen).Principal; got != (who{"eve", "fewer"}) {
		t.Errorf("the principal is %v", got)
	}

	c := newConsole(t, s)
	c.say(legacyHello("2024-11-05", `{}`))
	c.hear()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	c.hear()
	check(Caller{Version: "2024-11-05", Info: json.RawMessage(`{"name":"c","version":"1"}`), Capabilities: json.RawMessage(`{}`)}, <-h.seen)
}

// The HTTP+SSE transport: whoever has no stream, or another's, is refused.
func TestServesOldTransport(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{Principal: func(r *http.Request) any { return r.Header.Get("X-Who") }})
	base := strings.TrimSuffix(publish(t, s), "/mcp")
	resp := roundTripTo(t, "GET", base+"/sse", "", map[string]string{"X-Who": "ann"})
	next, _ := eventsOf(t, resp)
	endpoint := next()
	if !strings.HasPrefix(endpoint, "/mcp/message?sessionId=") {
		t.Fatalf("endpoint %q", endpoint)
	}
	for _, test := range []struct {
		name, method, path, who, body string
		want                          int
	}{
		{"initialize", "POST", endpoint, "ann", legacyHello("2024-11-05", "{}"), 202},
		{"somebody else", "POST", endpoint, "eve", legacyHello("2024-11-05", "{}"), 403},
		{"no such", "POST", "/mcp/message?sessionId=x", "ann", legacyHello("2024-11-05", "{}"), 404},
		{"none", "POST", "/mcp/message", "ann", legacyHello("2024-11-05", "{}"), 404},
		{"GET", "GET", endpoint, "ann", "", 405},
		{"a stream by POST", "POST", "/sse", "ann", "", 405},
	} {
		resp, body := exchangeWith(t, test.method, base+test.path, test.body, map[string]string{"X-Who": test.who})
		if resp.StatusCode != test.want {
			t.Errorf("%s: %s %s, want %d", test.name, resp.Status, body, test.want)
		}
	}
	if got := next(); !strings.Contains(got, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("the answer %s", got)
	}
	s.Notify("notifications/tools/list_changed", nil, nil)
	if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("told %s", got)
	}
	exchangeWith(t, "POST", base+endpoint, `[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","id":2,"method":"x"}]`, map[string]string{"X-Who": "ann"})
	for _, id := range []string{"1", "2"} {
		if got := next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600,`) {
			t.Errorf("the answer to a batch: %s", got)
		}
	}
	resp.Body.Close()
	for status := 202; status != 404; {
		resp, _ := exchangeWith(t, "POST", base+endpoint, `{"jsonrpc":"2.0","method":"x"}`, map[string]string{"X-Who": "ann"})
		status = resp.StatusCode
		if status != 202 && status != 404 {
			t.Fatal(resp.Status)
		}
	}
}
