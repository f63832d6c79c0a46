package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// eventsOf reads a response's event stream, one message at a call; "" is its end.
func eventsOf(t *testing.T, resp *http.Response) (next func() string, lastID func() string) {
	t.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("no event stream: %s %v %s", resp.Status, resp.Header, b)
	}
	s := newSSEReader(resp.Body, 64<<20)
	t.Cleanup(func() {
		resp.Body.Close()
		s.release()
	})
	return func() string {
		e, err := s.next()
		if err != nil {
			return ""
		}
		return string(e.data.data)
	}, func() string { return s.lastID }
}

func listenBody(id, filter string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter + `,` + modernMeta + `}}`
}

// Several subscriptions at once, each told what it asked for and nothing else, and
// ended with a result when the server is closed.
func TestHTTPSubscriptions(t *testing.T) {
	d := &desk{}
	s := deskServer(t, d, ServerOptions{})
	url := publish(t, s)
	listen := func(id, filter string) func() string {
		next, _ := eventsOf(t, roundTripTo(t, "POST", url, listenBody(id, filter), modernHeader("subscriptions/listen", "")))
		return next
	}
	expect := func(next func() string, want string) {
		t.Helper()
		if got := next(); got != want {
			t.Errorf("event\n got %s\nwant %s", got, want)
		}
	}
	ack := func(id, granted string) string {
		return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":` + granted + `,"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
	}
	tools := listen(`"a"`, `{"toolsListChanged":true,"promptsListChanged":true}`)
	expect(tools, ack(`"a"`, `{"toolsListChanged":true}`))
	resources := listen(`7.0`, `{"resourceSubscriptions":["file:///a","file:///b","file:///a"],"toolsListChanged":false}`)
	expect(resources, ack(`7.0`, `{"resourceSubscriptions":["file:///a","file:///b"]}`))
	if d.watching("file:///a") != 1 || d.watching("file:///b") != 1 {
		t.Errorf("watched %v", d.watched)
	}
	// Nothing granted: there is nothing to wait for.
	nothing := listen(`1`, `{"promptsListChanged":true}`)
	expect(nothing, ack(`1`, `{}`))
	expect(nothing, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{`+deskInfo+`,"io.modelcontextprotocol/subscriptionId":1}}}`)
	expect(nothing, "")

	s.Notify("notifications/prompts/list_changed", nil, nil)
	s.Notify("notifications/tools/list_changed", nil, func(c *Caller) bool { return !c.Modern })
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"file:///c"}`), nil)
	s.Notify("notifications/tools/list_changed", json.RawMessage(`{"_meta":{"x":1,"io.modelcontextprotocol/subscriptionId":"forged"}}`), nil)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"file:///b"}`), nil)
	expect(tools, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a","x":1}}}`)
	expect(resources, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///b","_meta":{"io.modelcontextprotocol/subscriptionId":7.0}}}`)

	var closing sync.WaitGroup
	closing.Go(func() { _ = s.Close(within(t)) })
	expect(tools, `{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","_meta":{`+deskInfo+`,"io.modelcontextprotocol/subscriptionId":"a"}}}`)
	expect(tools, "")
	if last := resources(); !strings.Contains(last, `"id":7.0,"result"`) {
		t.Errorf("the other ended with %s", last)
	}
	closing.Wait()
	if d.watching("file:///a") != 0 || d.watching("file:///b") != 0 {
		t.Errorf("still watched %v", d.watched)
	}
	resp, _ := exchangeWith(t, "POST", url, modernCall("1", "echo", "{}"), modernHeader("tools/call", "echo"))
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end: %s", resp.Status)
	}
}

// A client that closes its stream has ended its subscription, and cancelled its
// request.
func TestHTTPDisconnect(t *testing.T) {
	d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
	url := publish(t, deskServer(t, d, ServerOptions{}))
	resp := roundTripTo(t, "POST", url, listenBody("1", `{"resourceSubscriptions":["u"]}`), modernHeader("subscriptions/listen", ""))
	next, _ := eventsOf(t, resp)
	next()
	resp.Body.Close()
	for d.watching("u") != 0 {
		select {
		case <-within(t).Done():
			t.Fatal("the subscription goes on")
		case <-time.After(time.Millisecond):
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(modernCall("1", "wait", "{}")))
	r.Header.Set("Content-Type", "application/json")
	for name, value := range modernHeader("tools/call", "wait") {
		r.Header.Set(name, value)
	}
	go func() {
		<-d.began
		cancel()
	}()
	if _, err := http.DefaultTransport.RoundTrip(r); err == nil {
		t.Error("there was an answer")
	}
	select {
	case <-d.canceled:
	case <-within(t).Done():
		t.Error("the request goes on")
	}
}

// inBubble serves one request in a bubble, where time passes at once, and returns
// the response when the handler has returned.
func inBubble(s *Server, ctx context.Context, method, body string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, "/mcp", strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.HTTP().ServeHTTP(w, r)
	return w
}

// A request that takes its time becomes a stream that is kept alive, and so is a
// subscription.
func TestHTTPKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{release: make(chan struct{})}
		s := NewServer(d, ServerOptions{Name: "desk", Version: "1", KeepAlive: 10 * time.Second})
		time.AfterFunc(35*time.Second, func() { close(d.release) })
		w := inBubble(s, t.Context(), "POST", modernCall("1", "wait", "{}"), modernHeader("tools/call", "wait"))
		if got := w.Body.String(); w.Header().Get("Content-Type") != "text/event-stream" || strings.Count(got, ":\n\n") != 3 || !strings.Contains(got, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{") {
			t.Errorf("%v %q", w.Header(), got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		w = inBubble(s, ctx, "POST", listenBody("1", `{"toolsListChanged":true}`), modernHeader("subscriptions/listen", ""))
		if got := w.Body.String(); !strings.HasPrefix(got, "data: {") || strings.Count(got, "\n\n:\n\n:\n\n") != 1 {
			t.Errorf("%q", got)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What a handler says after its end is not sent.
func TestNothingFollowsTheAnswer(t *testing.T) {
	late := make(chan *Incoming, 1)
	s := NewServer(lateHandler{late}, ServerOptions{Name: "late"})
	c := newConsole(t, s)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"}}}`)
	if got := c.hear(); !strings.Contains(got, `"result"`) {
		t.Errorf("answer %s", got)
	}
	r := <-late
	r.Progress(json.RawMessage(`{"progress":1}`))
	r.Log(json.RawMessage(`{"level":"error","data":1}`))
	c.expect(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
	_ = s.Close(t.Context())
}

type lateHandler struct{ late chan *Incoming }

func (lateHandler) Describe(context.Context, *Caller) Description { return Description{} }

func (h lateHandler) Handle(_ context.Context, r *Incoming) (json.RawMessage, error) {
	h.late <- r
	return json.RawMessage(`{}`), nil
}
