package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hello opens a legacy session.
func hello(t *testing.T, url, version, capabilities string, header map[string]string) map[string]string {
	t.Helper()
	resp, body := exchangeWith(t, "POST", url, legacyHello(version, capabilities), header)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" || !strings.Contains(body, `"protocolVersion":"`) {
		t.Fatalf("%s %v %s", resp.Status, resp.Header, body)
	}
	h := map[string]string{"Mcp-Session-Id": id, "MCP-Protocol-Version": version}
	for name, value := range header {
		h[name] = value
	}
	resp, body = exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h)
	if resp.StatusCode != http.StatusAccepted || body != "" || resp.ContentLength != 0 {
		t.Errorf("initialized: %s %q", resp.Status, body)
	}
	return h
}

func legacyCall(id, tool, args, meta string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":{` + meta + `}}}`
}

func TestSessions(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{
		Principal:     func(r *http.Request) any { return []string{r.Header.Get("X-Who")} }, // not comparable with ==
		SamePrincipal: func(a, b any) bool { return a.([]string)[0] == b.([]string)[0] },
	})
	url := publish(t, s)
	h := hello(t, url, "2025-06-18", "{}", map[string]string{"X-Who": "ann"})
	other := hello(t, url, "2025-03-26", "{}", map[string]string{"X-Who": "ann"})
	if h["Mcp-Session-Id"] == other["Mcp-Session-Id"] || len(h["Mcp-Session-Id"]) < 20 {
		t.Errorf("sessions %q and %q", h["Mcp-Session-Id"], other["Mcp-Session-Id"])
	}
	status := func(method, body string, header map[string]string) int {
		t.Helper()
		resp, _ := exchangeWith(t, method, url, body, header)
		return resp.StatusCode
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	// Legacy results are sent as they are.
	resp, body := exchangeWith(t, "POST", url, legacyCall("2e0", "raw", `{"result":{"content":[],"n":1.0}}`, ""), h)
	if body != `{"jsonrpc":"2.0","id":2e0,"result":{"content":[],"n":1.0}}` || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", resp.Header, body)
	}
	resp, body = exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","id":3,"method":"x"}`, h)
	if resp.StatusCode != http.StatusOK || body != `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}` {
		t.Errorf("unknown method: %s %s", resp.Status, body)
	}
	with := func(name, value string) map[string]string {
		changed := map[string]string{}
		for n, v := range h {
			changed[n] = v
		}
		changed[name] = value
		return changed
	}
	for _, test := range []struct {
		name         string
		method, body string
		header       map[string]string
		want         int
	}{
		{"somebody else's", "POST", list, with("X-Who", "eve"), 403},
		{"somebody else's stream", "GET", "", with("X-Who", "eve"), 403},
		{"somebody else's end", "DELETE", "", with("X-Who", "eve"), 403},
		{"somebody else's notification", "POST", `{"jsonrpc":"2.0","method":"x"}`, with("X-Who", "eve"), 403},
		{"no such", "POST", list, with("Mcp-Session-Id", "no"), 404},
		{"none", "POST", list, with("Mcp-Session-Id", ""), 400},
		{"unknown version", "POST", list, with("MCP-Protocol-Version", "1999-01-01"), 400},
		{"no version", "POST", list, with("MCP-Protocol-Version", ""), 200},
		{"no stream accepted", "GET", "", with("Accept", "application/json"), 406},
		{"batch", "POST", "[" + list + "]", h, 400},
		{"stream of an unknown event", "GET", "", with("Last-Event-ID", "77-1"), 400},
		{"stream of no event", "GET", "", with("Last-Event-ID", "x"), 400},
		{"end", "DELETE", "", h, 204},
		{"after the end", "POST", list, h, 404},
		{"end again", "DELETE", "", h, 404},
		{"the other goes on", "POST", list, other, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := status(test.method, test.body, test.header); got != test.want {
				t.Errorf("status %d, want %d", got, test.want)
			}
		})
	}
}

// A client that lost the connection comes back for the rest, and only for that.
func TestSessionResumes(t *testing.T) {
	d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1), release: make(chan struct{})}
	url := publish(t, deskServer(t, d, ServerOptions{}))
	h := hello(t, url, "2025-11-25", "{}", nil)
	resp := make(chan *http.Response)
	go func() { resp <- roundTripTo(t, "POST", url, legacyCall("1", "wait", "{}", `"progressToken":1`), h) }()
	r := <-d.began
	r.Progress(json.RawMessage(`{"progress":1}`))
	first := <-resp
	next, lastID := eventsOf(t, first)
	if got := next(); !strings.Contains(got, `"progress":1`) {
		t.Errorf("first event %q", got)
	}
	seen := lastID()
	first.Body.Close()
	r.Progress(json.RawMessage(`{"progress":2}`))
	h["Last-Event-ID"] = seen
	again := roundTripTo(t, "GET", url, "", h)
	next, lastID = eventsOf(t, again)
	if got := next(); !strings.Contains(got, `"progress":2`) {
		t.Errorf("second event %q", got)
	}
	seen = lastID()
	again.Body.Close()
	close(d.release)
	h["Last-Event-ID"] = seen
	for range 2 { // as often as is wished
		next, _ = eventsOf(t, roundTripTo(t, "GET", url, "", h))
		if got := next(); got != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"released"}]}}` {
			t.Errorf("answer %q", got)
		}
		if got := next(); got != "" {
			t.Errorf("and %q", got)
		}
	}
	select {
	case <-d.canceled:
		t.Error("the request was cancelled")
	default:
	}
}

// A request whose response is not a stream yet is lost with the connection, and one
// nobody comes back for ends.
func TestLostRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{canceled: make(chan string, 2)}
		s := NewServer(d, ServerOptions{Name: "desk"})
		h := map[string]string{"Mcp-Session-Id": inBubble(s, t.Context(), "POST", legacyHello("2025-11-25", "{}"), nil).Header().Get("Mcp-Session-Id")}
		for _, test := range []struct{ reads, lasts time.Duration }{
			{time.Second, time.Second},
			{5 * time.Second, 5*time.Second + resumeLimit},
		} {
			began := time.Now()
			inBubble(s, gone(t.Context(), test.reads), "POST", legacyCall("1", "wait", "{}", ""), h)
			<-d.canceled
			if took := time.Since(began); took != test.lasts {
				t.Errorf("read for %v, it went on for %v", test.reads, took)
			}
		}
		_ = s.Close(t.Context())
	})
}

// gone is the context of a request whose connection is lost after d, as net/http has
// it: a deadline would say that whoever let the client in ends the request.
func gone(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(d, cancel)
	return ctx
}

// A request whose client has come back goes on.
func TestResumedRequestsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{release: make(chan struct{})}
		s := NewServer(d, ServerOptions{Name: "desk"})
		h := map[string]string{"Mcp-Session-Id": inBubble(s, t.Context(), "POST", legacyHello("2025-11-25", "{}"), nil).Header().Get("Mcp-Session-Id")}
		time.AfterFunc(4*resumeLimit, func() { close(d.release) })
		ctx := gone(t.Context(), 5*time.Second)
		go inBubble(s, ctx, "POST", legacyCall("1", "wait", "{}", ""), h)
		<-ctx.Done()
		time.Sleep(time.Second)
		h["Last-Event-ID"] = "1-1"
		if got := inBubble(s, t.Context(), "GET", "", h).Body.String(); !strings.Contains(got, "id: 1-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\"") {
			t.Errorf("the stream: %q", got)
		}
		_ = s.Close(t.Context())
	})
}

// What is kept for clients that come back is bounded, and freed with its session.
func TestKeptStreamsAreBounded(t *testing.T) {
	d := &desk{}
	s := deskServer(t, d, ServerOptions{})
	url := publish(t, s)
	h := hello(t, url, "2025-11-25", "{}", nil)
	h["Accept"] = "application/json, text/event-stream"
	large := func(id string) string {
		return legacyCall(id, "big", `{"bytes":3000000}`, `"progressToken":1`)
	}
	for range 3 {
		if _, body := exchangeWith(t, "POST", url, large("1"), h); len(body) < 3000000 {
			t.Fatalf("%.300s", body)
		}
	}
	if kept := s.guests.kept.Load(); kept > 3*maxSettled {
		t.Errorf("%d bytes are kept of what was read", kept)
	}
	for range 3 * maxStreams {
		exchangeWith(t, "POST", url, legacyCall("1", "steps", "{}", `"progressToken":1`), h)
	}
	kept := s.guests.kept.Load()
	if kept == 0 || kept > maxStreams*4096 {
		t.Errorf("%d bytes are kept", kept)
	}
	exchangeWith(t, "DELETE", url, "", h)
	if kept := s.guests.kept.Load(); kept != 0 {
		t.Errorf("%d bytes are kept of nobody", kept)
	}
}

// A cancelled request gets no answer, and its stream ends.
func TestLegacyCancel(t *testing.T) {
	d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
	url := publish(t, deskServer(t, d, ServerOptions{}))
	h := hello(t, url, "2025-06-18", "{}", nil)
	done := make(chan string, 1)
	go func() {
		_, body := exchangeWith(t, "POST", url, legacyCall(`"x"`, "wait", "{}", ""), h)
		done <- body
	}()
	<-d.began
	resp, body := exchangeWith(t, "POST", url, legacyCall(`"x"`, "echo", "{}", ""), h)
	if !strings.Contains(body, `"code":-32600`) {
		t.Errorf("an id in use: %s %s", resp.Status, body)
	}
	exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`, h)
	<-d.canceled
	if body := <-done; body != "" {
		t.Errorf("an answer: %s", body)
	}
}

// What belongs to no request is read on the GET stream, also what happened before.
func TestSessionStream(t *testing.T) {
	d := &desk{}
	s := deskServer(t, d, ServerOptions{})
	url := publish(t, s)
	h := hello(t, url, "2025-11-25", "{}", nil)
	watch := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}}`
	if _, body := exchangeWith(t, "POST", url, watch, h); body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("subscribe: %s", body)
	}
	for range 3 {
		s.Notify("notifications/tools/list_changed", nil, nil)
	}
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"v"}`), nil)
	s.Notify("notifications/resources/updated", json.RawMessage("{\"uri\":\n\"u\"}"), nil)
	next, _ := eventsOf(t, roundTripTo(t, "GET", url, "", h))
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri": "u"}}`,
	} {
		if got := next(); got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
	}
	s.Notify("notifications/prompts/list_changed", nil, nil)
	if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}` {
		t.Errorf("event %s", got)
	}
	second, _ := eventsOf(t, roundTripTo(t, "GET", url, "", h))
	if got := next(); got != "" {
		t.Errorf("the first stream goes on with %s", got)
	}
	s.Notify("notifications/tools/list_changed", nil, nil)
	if got := second(); !strings.Contains(got, "tools/list_changed") {
		t.Errorf("second stream: %s", got)
	}
	exchangeWith(t, "DELETE", url, "", h)
	if got := second(); got != "" {
		t.Errorf("after the end: %s", got)
	}
	if d.watching("u") != 0 {
		t.Error("somebody who is gone watches")
	}
}

// A question goes out on the request's stream, and so does its cancellation.
func TestAskOverHTTP(t *testing.T) {
	d := &desk{began: make(chan *Incoming, 1), release: make(chan struct{})}
	url := publish(t, deskServer(t, d, ServerOptions{}))
	h := hello(t, url, "2025-11-25", `{"elicitation":{}}`, nil)
	resp := make(chan *http.Response, 1)
	go func() { resp <- roundTripTo(t, "POST", url, legacyCall("1", "wait", "{}", ""), h) }()
	r := <-d.began
	if _, err := r.Ask(within(t), "sampling/createMessage", nil); err == nil || asFailure(t, err).Delivery.String() != "not-sent" {
		t.Errorf("undeclared: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := r.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"?"}`))
		asked <- err
	}()
	next, _ := eventsOf(t, <-resp)
	if got := next(); got != `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}` {
		t.Errorf("question %s", got)
	}
	cancel()
	if err := <-asked; err == nil {
		t.Error("an answer")
	}
	if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no longer needed"}}` {
		t.Errorf("cancellation %s", got)
	}
	go func() {
		answer, err := r.Ask(t.Context(), "elicitation/create", nil)
		if string(answer) != `{"action":"cancel"}` {
			t.Errorf("answer %s, %v", answer, err)
		}
		close(d.release)
	}()
	if got := next(); got != `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}` {
		t.Errorf("question %s", got)
	}
	if resp, _ := exchangeWith(t, "POST", url, `{"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}}`, h); resp.StatusCode != http.StatusAccepted {
		t.Errorf("our answer: %s", resp.Status)
	}
	if got := next(); !strings.Contains(got, "released") {
		t.Errorf("result %s", got)
	}
}

// Sessions that nobody ends cost nothing in the end, and never more than their bound.
func TestSessionsAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(&desk{}, ServerOptions{Name: "desk", MaxSessions: 100, SessionIdle: time.Minute})
		open := func() string {
			return inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), nil).Header().Get("Mcp-Session-Id")
		}
		status := func(id string) int {
			return inBubble(s, t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, map[string]string{"Mcp-Session-Id": id}).Code
		}
		used := open()
		before := heap()
		for range 10000 {
			open()
			if status(used) != http.StatusOK {
				t.Fatal("the session in use made room")
			}
		}
		if n, listeners, _ := kept(s); n != 100 || listeners != 100 {
			t.Errorf("%d sessions, %d listeners", n, listeners)
		}
		time.Sleep(50 * time.Second)
		if status(used) != http.StatusOK {
			t.Error("the session in use expired")
		}
		time.Sleep(59 * time.Second)
		if n, _, _ := kept(s); n > 1 {
			t.Errorf("%d sessions", n)
		}
		time.Sleep(2 * time.Minute)
		if n, listeners, sweeping := kept(s); n != 0 || listeners != 0 || sweeping {
			t.Errorf("%d sessions, %d listeners, sweeping %v", n, listeners, sweeping)
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("the heap has grown by %d bytes", grown)
		}
		_ = s.Close(t.Context())
	})
}

// kept counts what a server keeps of sessions, in a bubble, when all is done.
func kept(s *Server) (sessions, listeners int, sweeping bool) {
	synctest.Wait()
	s.guests.mu.Lock()
	defer s.guests.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.guests.byID), len(s.audience), s.guests.sweep != nil
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
