package mcp

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// modernServer answers like a server of 2026-07-28 with one tool, call. Nil
// answers every call with text.
func modernServer(call func(w http.ResponseWriter, r *http.Request, e envelope)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		e, _, err := scanEnvelope(body, 0)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch method, _ := text(e.method); {
		case method == "server/discover":
			answerWith(w, e.id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)
		case call != nil:
			call(w, r, e)
		default:
			answerWith(w, e.id, `{"resultType":"complete","content":[{"type":"text","text":"hi"}]}`)
		}
	})
}

func listenOn(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// A server that is gone fails the call that wanted it and nothing else.
func TestServerGoneAndBack(t *testing.T) {
	s := newSessions(t)
	addr := s.Listener.Addr().String()
	c := dial(t, Endpoint{URL: s.URL}, Options{})
	callTool(t, c, "echo", "{}")
	s.Server.Close()
	var f *failure.Failure
	eventually(t, func() bool { // until the end of the idle connection is noticed
		f = callFails(t, c, "echo", "{}")
		return f.Delivery == failure.NotSent
	}, "a call was sent to nobody")
	wantFailure(t, f, failure.ConnectionRefused, failure.NotSent, "connect to http://"+addr)
	if f.Target != addr {
		t.Errorf("target %q, want %q", f.Target, addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	back.Start()
	defer back.Close()
	callTool(t, c, "echo", "{}")
	select {
	case <-c.Done():
		t.Error(c.Err())
	default:
	}
}

func TestDialFails(t *testing.T) {
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for _, test := range []struct {
		url   string
		class failure.Class
	}{
		{nobody.URL, failure.ConnectionRefused},
		{"http://nothing.invalid/mcp", failure.DNSFailure},
		{"ftp://127.0.0.1/", failure.InvalidArguments},
		{"127.0.0.1:80", failure.InvalidArguments},
		{"http://", failure.InvalidArguments},
		{"", failure.InvalidArguments},
	} {
		wantFailure(t, dialFails(t, Endpoint{URL: test.url}), test.class, failure.NotSent)
	}
	for name, value := range map[string]string{"Bad Name": "x", "X-Bad": "a\r\nb: c", "": "x"} {
		f := dialFails(t, Endpoint{URL: nobody.URL, Header: http.Header{name: {value}}})
		wantFailure(t, f, failure.InvalidArguments, failure.NotSent, "header")
	}
}

// 401 says nothing of the era: it is reported at once, with all its facts.
func TestUnauthorized(t *testing.T) {
	var requests atomic.Int32
	const challenge = `Bearer resource_metadata="https://a.example/.well-known/x", error="invalid_token", error_description="The token expired", scope="a b"`
	s := listenOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	f := dialFails(t, Endpoint{URL: s.URL})
	wantFailure(t, f, failure.AuthFailure, failure.Answered, "credentials", "The token expired", "scope: a b", "401")
	if f.Challenge != challenge || f.UpstreamCode != 401 || requests.Load() != 1 {
		t.Errorf("challenge %q, code %d, %d requests", f.Challenge, f.UpstreamCode, requests.Load())
	}
}

// A call that never had a connection was not sent.
func TestDelivery(t *testing.T) {
	s := listenOn(t, modernServer(func(_ http.ResponseWriter, r *http.Request, _ envelope) {
		<-r.Context().Done()
	}))
	c, l, f := open(Endpoint{URL: s.URL}, Options{}.withDefaults())
	if f != nil {
		t.Fatal(f)
	}
	type dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	var dialing atomic.Pointer[dialer]
	plain := dialer(l.transport.DialContext)
	dialing.Store(&plain)
	l.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (*dialing.Load())(ctx, network, addr)
	}
	if f := c.handshake(within(t), true); f != nil {
		t.Fatal(f)
	}
	defer c.Close(context.Background())
	short := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 200*time.Millisecond)
	}
	ctx, cancel := short()
	defer cancel()
	_, err := c.CallTool(ctx, "x", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)

	l.transport.CloseIdleConnections()
	dropping := dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done() // a host that drops packets
		return nil, ctx.Err()
	})
	dialing.Store(&dropping)
	ctx, cancel = short()
	defer cancel()
	_, err = c.CallTool(ctx, "x", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.NotSent)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.CallTool(ctx, "x", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Canceled, failure.NotSent)
}

// Closing fails what is open at once.
func TestCloseWithOpenCalls(t *testing.T) {
	arrived := make(chan struct{})
	c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(_ http.ResponseWriter, r *http.Request, _ envelope) {
		close(arrived)
		<-r.Context().Done()
	})).URL}, Options{})
	go func() {
		<-arrived
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	wantFailure(t, callFails(t, c, "x", "{}"), failure.ConnectionRefused, failure.DeliveryUnknown, "closed")
}

func TestHeaders(t *testing.T) {
	configured := http.Header{"X-Team": {"a", "b"}, "Accept": {"text/html"}, "Mcp-Method": {"forged"}}
	t.Run("modern", func(t *testing.T) {
		w := serve(t, "modern")
		c := dial(t, Endpoint{URL: w.url, Header: configured}, Options{})
		for _, name := range []string{"echo", "wört ", "=?base64?x?="} {
			_, _ = c.CallTool(within(t), name, nil, RequestOptions{})
		}
		_, _ = c.Request(within(t), "resources/read", json.RawMessage(`{"uri":"file:///ü"}`), RequestOptions{})
		names := []string{}
		for _, h := range w.requests(t) {
			if h.Headers["Mcp-Protocol-Version"][0] != "2026-07-28" || h.Headers["Mcp-Method"][0] != h.rpc() || len(h.Headers["X-Team"]) != 2 ||
				h.Headers["Accept"][0] != "application/json, text/event-stream" || h.Headers["Content-Type"][0] != "application/json" || h.Headers["Mcp-Session-Id"] != nil {
				t.Errorf("%s: %v", h.rpc(), h.Headers)
			}
			if meta := member(member(h.message, "params"), "_meta"); member(meta, metaPrefix+"clientCapabilities") == nil || member(meta, metaPrefix+"clientInfo") == nil {
				t.Errorf("%s: _meta is %s", h.rpc(), meta)
			}
			names = append(names, strings.Join(h.Headers["Mcp-Name"], ","))
		}
		if got, want := strings.Join(names, " "), " echo =?base64?d8O2cnQg?= =?base64?PT9iYXNlNjQ/eD89?= =?base64?ZmlsZTovLy/DvA==?="; got != want {
			t.Errorf("names %s, want %s", got, want)
		}
	})
	t.Run("legacy", func(t *testing.T) {
		w := serve(t, "")
		c := dial(t, Endpoint{URL: w.url, Header: configured}, Options{OnNotification: func(string, json.RawMessage) {}})
		echoes(t, c)
		eventually(t, func() bool { return w.times(t, "GET", "") == 1 }, "no GET")
		if err := c.Close(within(t)); err != nil {
			t.Fatal(err)
		}
		for i, h := range w.requests(t) {
			version, session := strings.Join(h.Headers["Mcp-Protocol-Version"], ","), strings.Join(h.Headers["Mcp-Session-Id"], ",")
			want := "2025-11-25 session-1"
			switch h.rpc() {
			case "server/discover":
				want = "2026-07-28 "
			case "initialize":
				want = " "
			}
			if version+" "+session != want || len(h.Headers["X-Team"]) != 2 {
				t.Errorf("request %d, %s %s: version %q, session %q; want %q", i, h.Method, h.rpc(), version, session, want)
			}
		}
	})
	t.Run("user in the URL", func(t *testing.T) {
		got := make(chan string, 4)
		s := listenOn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Get("Authorization")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		f := dialFails(t, Endpoint{URL: strings.Replace(s.URL, "http://", "http://me:s3cret@", 1)})
		if a := <-got; a != "Basic bWU6czNjcmV0" {
			t.Errorf("authorization %q", a)
		}
		if strings.Contains(f.Message+f.Target, "s3cret") {
			t.Errorf("%+v tells the password", f)
		}
	})
}

// A URL whose server changes its era under the client goes on to serve it.
func TestEraChanges(t *testing.T) {
	var modern atomic.Bool
	young, old := modernServer(nil), newSessions(t)
	s := listenOn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if modern.Load() {
			if r.Header.Get("Mcp-Method") == "" {
				w.WriteHeader(http.StatusBadRequest)
				answerError(w, "1", `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]}}`)
				return
			}
			young.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	}))
	c := dial(t, Endpoint{URL: s.URL}, Options{})
	for _, now := range []bool{false, true, false, true} {
		modern.Store(now)
		callTool(t, c, "echo", "{}")
		if c.Server().Modern != now {
			t.Errorf("modern %v, want %v", c.Server().Modern, now)
		}
	}
}

func answerError(w io.Writer, id, fault string) {
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, fault)
}

func TestOddResponses(t *testing.T) {
	for name, test := range map[string]struct {
		status            int
		kind, body, parts string
		class             failure.Class
		delivery          failure.Delivery
	}{
		"other id":        {200, "application/json", `{"jsonrpc":"2.0","id":99,"result":{}}`, "holds no answer", failure.InvalidResult, failure.Answered},
		"truncated":       {200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{`, "breaks off", failure.InvalidResult, failure.Answered},
		"no answer":       {200, "text/event-stream", ": nothing\n\n", "without an answer", failure.ConnectionRefused, failure.DeliveryUnknown},
		"unknown result":  {200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task"}}`, "unknown resultType", failure.InvalidResult, failure.Answered},
		"502":             {502, "text/html", "<h1>Bad Gateway</h1>", "502", failure.ConnectionRefused, failure.DeliveryUnknown},
		"504":             {504, "", "", "504", failure.Timeout, failure.DeliveryUnknown},
		"500 with error":  {500, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"boom"}}`, "boom", failure.ServerError, failure.Answered},
		"400 with error":  {400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32021,"message":"sampling is missing"}}`, "sampling", failure.ServerError, failure.Answered},
		"404 no method":   {404, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`, "Method not found", failure.ServerError, failure.Answered},
		"413":             {413, "text/plain", "too much", "too much", failure.ServerError, failure.Answered},
		"a terminal joke": {418, "text/plain", "\x1b[31mred", `\x1b[31mred`, failure.ServerError, failure.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(w http.ResponseWriter, _ *http.Request, e envelope) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
				io.WriteString(w, strings.ReplaceAll(test.body, "ID", string(e.id)))
			})).URL}, Options{})
			wantFailure(t, callFails(t, c, "x", "{}"), test.class, test.delivery, test.parts)
		})
	}
	for name, test := range map[string]struct{ kind, body string }{
		"no type":        {"", `{"jsonrpc":"2.0","id":ID,"result":{"ok":1}}`},
		"text":           {"text/plain; charset=utf-8", ` {"jsonrpc":"2.0","id":ID,"result":{"ok":1}}`},
		"problem":        {"application/vnd.x+json", `{"jsonrpc":"2.0","id":ID,"result":{"ok":1}}`},
		"BOM and spaces": {"application/json", "\ufeff\n {\"jsonrpc\":\"2.0\",\n\"id\":ID,\"result\":{\"ok\":1}}\n"},
		"batch":          {"application/json", `[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":ID,"result":{"ok":1}}]`},
		"input required": {"application/json", `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","ok":1,"requestState":"x"}}`},
		"asks in vain":   {"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"ok\":1}}\n\n"},
		"junk before":    {"text/event-stream", "data: hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"ok\":1}}\n\n"},
		"two in one":     {"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"ok\":1}}\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(w http.ResponseWriter, _ *http.Request, e envelope) {
				w.Header()["Content-Type"] = []string{test.kind}
				io.WriteString(w, strings.ReplaceAll(test.body, "ID", string(e.id)))
			})).URL}, Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				t.Error("the server was answered")
				return nil, nil
			}})
			if got := callTool(t, c, "x", "{}"); !strings.Contains(got, `"ok":1`) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Calls in sequence share one connection, however they are answered, and calls at
// a time share a bounded number.
func TestConnectionReuse(t *testing.T) {
	for _, kind := range []string{"json", "sse"} {
		t.Run(kind, func(t *testing.T) {
			var opened atomic.Int32
			s := httptest.NewUnstartedServer(modernServer(func(w http.ResponseWriter, _ *http.Request, e envelope) {
				if kind == "json" {
					answerWith(w, e.id, `{"n":`+string(e.id)+`}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"n\":%s}}\n\n", e.id, e.id)
			}))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					opened.Add(1)
				}
			}
			s.Start()
			t.Cleanup(s.Close)
			c := dial(t, Endpoint{URL: s.URL}, Options{})
			for range 50 {
				callTool(t, c, "x", "{}")
			}
			if n := opened.Load(); n != 1 {
				t.Errorf("50 calls took %d connections", n)
			}
			var wg sync.WaitGroup
			ctx := within(t)
			for range 32 {
				wg.Go(func() {
					for range 20 {
						if _, err := c.CallTool(ctx, "x", nil, RequestOptions{}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := opened.Load(); n > 2*32 {
				t.Errorf("32 callers took %d connections", n)
			}
		})
	}
}

// HTTP/2 is used where it is offered; a canceled call ends its stream alone.
func TestHTTP2(t *testing.T) {
	canceled := make(chan struct{})
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(modernServer(func(w http.ResponseWriter, r *http.Request, e envelope) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoke %s", r.Proto)
		}
		if name, _ := text(member(e.params, "name")); name == "wait" {
			<-r.Context().Done()
			close(canceled)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", e.id)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := dial(t, Endpoint{URL: s.URL, CAFile: ca}, Options{})
	callTool(t, c, "x", "{}")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.CallTool(ctx, "wait", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
	select {
	case <-canceled:
	case <-time.After(deadline):
		t.Error("the server was never told of the cancellation")
	}
	callTool(t, c, "x", "{}")
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
