package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Members that a request is judged by must not come twice, nor in another spelling;
// what is inside of arguments is the tool's.
func TestRepeatedParams(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{})
	for params, ok := range map[string]bool{
		`"name":"echo","arguments":{"text":"a"},`:                             true,
		`"name":"echo","arguments":{"text":"a","text":"b"},`:                  true,
		`"name":"echo","x":1,"x":2,`:                                          true,
		`"name":"echo","name":"fail",`:                                        false,
		`"name":"echo","n\u0061me":"fail",`:                                   false,
		`"name":"echo","arguments":{},"arguments":{"text":"b"},`:              false,
		`"name":"echo","requestState":"a","requestState":"b",`:                false,
		`"name":"echo","inputResponses":{},"inputResp\u006fnses":{},`:         false,
		`"name":"echo","_meta":{},`:                                           false,
		`"uri":"a","name":"echo","uri":"b",`:                                  false,
		`"name":"echo",` + strings.Repeat(`"\u0061\u0061\u0061\u0061":1,`, 9): true,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + modernMeta + `}}`
		w := inBubble(s, t.Context(), "POST", body, modernHeader("tools/call", "echo"))
		if got := w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"result"`); got != ok {
			t.Errorf("%s: %d %s", params, w.Code, w.Body)
		}
	}
}

// A session keeps what its client is and not the message that said so, which may be
// large, and no client is of any size.
func TestSessionsKeepNoMessages(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{MaxSessions: 200})
	open := func(capabilities, more string) int {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"},"more":"` + more + `"}}`
		return inBubble(s, t.Context(), "POST", body, nil).Code
	}
	large := strings.Repeat("x", 1<<20)
	open("{}", "")
	before := heap()
	for range 200 {
		if code := open("{}", large); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("200 sessions keep %d KiB", grown>>10)
	}
	if code := open(`{"x":"`+large+`"}`, ""); code != http.StatusBadRequest {
		t.Errorf("a client of a megabyte: %d", code)
	}
}

// Ids that nobody was given leave nothing, however many there are.
func TestManySessionIDs(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{})
	try := func(n int) {
		for i := range n {
			header := map[string]string{"Mcp-Session-Id": fmt.Sprintf("session-%d", i)}
			method := []string{"POST", "GET", "DELETE"}[i%3]
			if w := inBubble(s, t.Context(), method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header); w.Code != http.StatusNotFound {
				t.Fatalf("%s: %d %s", method, w.Code, w.Body)
			}
		}
	}
	try(1000)
	before := heap()
	try(100_000)
	s.guests.mu.Lock()
	sessions := len(s.guests.byID)
	s.guests.mu.Unlock()
	if grown := heap() - before; sessions != 0 || grown > 256<<10 {
		t.Errorf("%d sessions, the heap has grown by %d KiB", sessions, grown>>10)
	}
}

// Whoever opens one session after the other ends his own, and not those of others.
func TestSessionsOfOthersStay(t *testing.T) {
	s := deskServer(t, &desk{}, ServerOptions{MaxSessions: 10, Principal: func(r *http.Request) any { return r.Header.Get("X-Who") }})
	open := func(who string) string {
		w := inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), map[string]string{"X-Who": who})
		return w.Header().Get("Mcp-Session-Id")
	}
	alive := func(who, id string) bool {
		return inBubble(s, t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, map[string]string{"X-Who": who, "Mcp-Session-Id": id}).Code == http.StatusOK
	}
	ann := []string{open("ann"), open("ann"), open("ann")}
	for range 100 {
		open("eve")
	}
	for i, id := range ann {
		if !alive("ann", id) {
			t.Errorf("session %d has ended", i)
		}
	}
	// There is always room for somebody who has few.
	bob := open("bob")
	if !alive("bob", bob) {
		t.Error("no room for bob")
	}
}

// What a client watches is bounded in number and in bytes.
func TestLongURIs(t *testing.T) {
	d := &desk{watched: map[string]int{}}
	s := deskServer(t, d, ServerOptions{})
	h := map[string]string{"Mcp-Session-Id": inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), nil).Header().Get("Mcp-Session-Id")}
	long := strings.Repeat("u", maxURI+1)
	w := inBubble(s, t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+long+`"}}`, h)
	if !strings.Contains(w.Body.String(), "-32602") {
		t.Errorf("%s", w.Body)
	}
	w = inBubble(s, t.Context(), "POST", listenBody("1", `{"resourceSubscriptions":["a","`+long+`"]}`), modernHeader("subscriptions/listen", ""))
	if !strings.Contains(w.Body.String(), "-32602") {
		t.Errorf("%s", w.Body)
	}
	for uri, n := range d.watched {
		if n != 0 {
			t.Errorf("%.10s is still watched", uri)
		}
	}
}

// observer is a desk that says who watches.
type observer struct {
	desk
	who []any
}

func (o *observer) Watch(_ context.Context, c *Caller, _ string) (func(), error) {
	o.who = append(o.who, c.Principal)
	return func() {}, nil
}

// Rights that have changed since a session was opened are those of its next request:
// for what it asks to watch, and for what it is told.
func TestRightsOfASession(t *testing.T) {
	type rights struct{ id, may string }
	o := &observer{}
	s := NewServer(o, ServerOptions{
		Name:          "desk",
		Principal:     func(r *http.Request) any { return rights{r.Header.Get("X-Who"), r.Header.Get("X-May")} },
		SamePrincipal: func(a, b any) bool { return a.(rights).id == b.(rights).id },
	})
	defer s.Close(t.Context())
	w := inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), map[string]string{"X-Who": "ann", "X-May": "all"})
	h := map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id"), "X-Who": "ann", "X-May": "little"}
	inBubble(s, t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}}`, h)
	if want := (rights{"ann", "little"}); len(o.who) != 1 || o.who[0] != want {
		t.Errorf("watched by %v, want %v", o.who, want)
	}
	told := 0
	s.Notify("notifications/tools/list_changed", nil, func(c *Caller) bool {
		told++
		if c.Principal != (rights{"ann", "little"}) {
			t.Errorf("told as %v", c.Principal)
		}
		return true
	})
	if told != 1 {
		t.Errorf("%d are told", told)
	}
}

// A request whose client has lost the connection goes on for a while; one that was
// ended by whoever let it in does not.
func TestRequestsThatAreEnded(t *testing.T) {
	for _, cause := range []error{nil, context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
			s := NewServer(d, ServerOptions{Name: "desk"})
			defer s.Close(t.Context())
			w := inBubble(s, t.Context(), "POST", legacyHello("2025-06-18", "{}"), nil)
			ctx, end := context.WithCancelCause(t.Context())
			served := make(chan struct{})
			go func() {
				defer close(served)
				inBubble(s, ctx, "POST", legacyCall("1", "wait", "{}", ""), map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id")})
			}()
			<-d.began
			time.Sleep(2 * quickAnswer) // it is a stream by now
			end(cause)
			began := time.Now()
			<-d.canceled
			<-served
			if took := time.Since(began); (cause == nil) != (took >= resumeLimit) {
				t.Errorf("ended by %v, it went on for %s", cause, took)
			}
		})
	}
}
