package mcp

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Both eras on one connection, every id as it was sent.
func TestStdioSpeaksBothEras(t *testing.T) {
	c := newConsole(t, deskServer(t, &desk{}, ServerOptions{}))
	c.expect(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{`+modernMeta+`}}`,
		`{"jsonrpc":"2.0","id":"d","result":{"_meta":{`+deskInfo+`},"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],`+
			`"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"instructions":"ask\u000anicely","ttlMs":1500,"cacheScope":"public"}}`)
	c.expect(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta member io.modelcontextprotocol/protocolVersion is missing, and there was no initialize"}}`)
	c.expect(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.expect(legacyHello("1999-01-01", "{}"),
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},`+
			`"instructions":"ask\u000anicely","serverInfo":{"name":"desk","version":"1"}}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, id := range []string{`7`, `7.0`, `"7"`, `1152921504606846976`, `-0`, `1e3`, `"\u00e9"`, `""`} {
		c.expect(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"<&>"}}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"<&>"}]}}`)
	}
	c.expect(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},`+modernMeta+`}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{`+deskInfo+`},"content":[{"type":"text","text":"x"}]}}`)
}

func TestStdioRefusals(t *testing.T) {
	c := newConsole(t, deskServer(t, &desk{}, ServerOptions{}))
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}`},
		{"cut off", `{"jsonrpc":"2.0","id":1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message ends in the middle of a value"}}`},
		{"two on a line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}`},
		{"bad text", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid UTF-8"}}`},
		{"no object", `7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the message is no JSON object"}}`},
		{"batch of notifications", `[{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"no version", `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: jsonrpc must be \"2.0\""}}`},
		{"repeated method", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: the member method is repeated"}}`},
		{"repeated, escaped", `{"jsonrpc":"2.0","id":1,"method":"ping","metho\u0064":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: the member method is repeated"}}`},
		{"repeated id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the member id is repeated"}}`},
		{"other case", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list","ID":2}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the id is neither a string nor a number"}}`},
		{"bool id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the id is neither a string nor a number"}}`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: there is no method"}}`},
		{"params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: params must be an object"}}`},
		{"meta", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta must be an object"}}`},
		{"capabilities missing", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta member io.modelcontextprotocol/clientCapabilities is missing"}}`},
		{"version", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2027-01-01"}}}`},
		{"removed", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{"unknown", `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{"wire error", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail",` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}}`},
		{"any error", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret",` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`},
		{"no result", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":{"result":[]},` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`},
		{"mark and return", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r", `{"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.t = t
			c.expect(test.line, test.want)
		})
	}
	c.t = t
	c.expect(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`)
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,`) {
		t.Errorf("second answer to a batch: %s", got)
	}
	c.expect("\n  \n"+`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
}

// A cancelled request ends and gets no answer; its id can be used again.
func TestStdioCancel(t *testing.T) {
	d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
	c := newConsole(t, deskServer(t, d, ServerOptions{}))
	c.say(modernCall(`"x"`, "wait", "{}"))
	<-d.began
	c.expect(modernCall(`"x"`, "echo", "{}"), `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"Invalid Request: a request with this id is open"}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
	<-d.canceled
	c.expect(modernCall(`"x"`, "echo", `{"text":"again"}`), `{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","_meta":{`+deskInfo+`},"content":[{"type":"text","text":"again"}]}}`)
}

// Several subscriptions on one connection are several.
func TestStdioSubscriptions(t *testing.T) {
	d := &desk{}
	s := deskServer(t, d, ServerOptions{})
	c := newConsole(t, s)
	for _, id := range []string{`1`, `"1"`} {
		c.say(listenBody(id, `{"toolsListChanged":true,"resourceSubscriptions":["u"]}`))
		if got := c.hear(); !strings.Contains(got, "acknowledged") || !strings.Contains(got, `subscriptionId":`+id+`}`) {
			t.Errorf("first of %s: %s", id, got)
		}
	}
	s.Notify("notifications/tools/list_changed", nil, nil)
	got := []string{c.hear(), c.hear()}
	slices.Sort(got)
	for i, id := range []string{`"1"`, `1`} {
		if want := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`; got[i] != want {
			t.Errorf("told %s, want %s", got[i], want)
		}
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	for d.watching("u") != 1 {
		runtime.Gosched()
	}
	s.Notify("notifications/tools/list_changed", nil, nil)
	if got := c.hear(); !strings.Contains(got, `subscriptionId":"1"`) {
		t.Errorf("told %s", got)
	}
	c.in.Close()
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"1","result":{"resultType":"complete"`) {
		t.Errorf("at the end: %s", got)
	}
	if err := <-c.ended; err != nil || d.watching("u") != 0 {
		t.Errorf("%v, watching %d", err, d.watching("u"))
	}
}

// A legacy client says what it wants to hear, is told without asking, and is asked.
func TestStdioLegacyClient(t *testing.T) {
	d := &desk{}
	s := deskServer(t, d, ServerOptions{})
	c := newConsole(t, s)
	c.say(legacyHello("2024-11-05", `{"roots":{}}`))
	if got := c.hear(); !strings.Contains(got, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("initialize: %s", got)
	}
	logs := func(want int) {
		t.Helper()
		c.say(legacyCall("1", "log", "{}", ""))
		n := 0
		for strings.Contains(c.hear(), "notifications/message") {
			n++
		}
		if n != want {
			t.Errorf("%d log messages, want %d", n, want)
		}
	}
	logs(2)
	c.expect(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	logs(1)
	c.expect(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"loud"}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: level is no log level"}}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"u"}`), nil)
	c.expect(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"u"}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	c.expect(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"u"}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"u"}`), nil)
	if got := c.hear(); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u"}}` {
		t.Errorf("told %s", got)
	}
	c.expect(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"u"}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	if d.watching("u") != 0 {
		t.Error("still watched")
	}
	c.expect(legacyCall("4", "ask", `{"method":"roots/list"}`, ""), `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`)
	c.expect(`{"jsonrpc":"2.0","id":"1","result":{"roots":[]}}`, `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"roots\":[]}"}]}}`)
	c.expect(legacyCall("4", "ask", `{"method":"roots/list"}`, ""), `{"jsonrpc":"2.0","id":2,"method":"roots/list","params":{}}`)
	c.expect(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`, `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"no"}]}}`)
	// Nobody can answer after the end of the input.
	c.expect(legacyCall("5", "ask", `{"method":"roots/list"}`, ""), `{"jsonrpc":"2.0","id":3,"method":"roots/list","params":{}}`)
	c.in.Close()
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"the client is gone"}]}}` {
		t.Errorf("after the end: %s", got)
	}
}

// The last answers are delivered after the end of the input, but not for ever.
func TestStdioEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{release: make(chan struct{})}
		s := NewServer(d, ServerOptions{Name: "desk"})
		serve := func(in string) (string, time.Duration, error) {
			began := time.Now()
			var out strings.Builder
			err := s.ServeStdio(t.Context(), strings.NewReader(in), &out)
			return out.String(), time.Since(began), err
		}
		time.AfterFunc(20*time.Second, func() { close(d.release) })
		out, took, err := serve(modernCall("1", "wait", "{}") + "\n" + modernCall("2", "echo", "{}")) // without a newline
		if err != nil || took != 20*time.Second || !strings.Contains(out, `"id":1,"result"`) || !strings.Contains(out, `"id":2,"result"`) {
			t.Errorf("%v %v %s", took, err, out)
		}
		d.release = nil
		out, took, err = serve(modernCall("1", "wait", "{}") + "\n")
		if err != nil || took != drainLimit || out != "" {
			t.Errorf("%v %v %s", took, err, out)
		}
		_ = s.Close(t.Context())
	})
}

// A client that does not read is bounded in memory and in time, and disturbs nobody
// else.
func TestStdioUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		s := NewServer(d, ServerOptions{Name: "desk"})
		in, feed := io.Pipe()
		unread, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeStdio(context.Background(), in, out) }()
		big := strings.Repeat("x", 1<<20)
		fed := 0
		go func() {
			for {
				if _, err := io.WriteString(feed, modernCall(strconv.Itoa(fed), "echo", `{"text":"`+big+`"}`)+"\n"); err != nil {
					return
				}
				fed++
			}
		}()
		synctest.Wait()
		if fed == 0 || fed > 32 {
			t.Errorf("%d requests were taken", fed)
		}
		for range 10000 { // must not block
			s.Notify("notifications/tools/list_changed", nil, nil)
		}
		other := newConsole(t, s)
		other.expect(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		other.in.Close()
		<-other.ended
		unread.Close() // as the system does when the client dies
		if err := <-ended; err == nil {
			t.Error("no error")
		}

		began := time.Now()
		unread, out = io.Pipe()
		if err := s.ServeStdio(t.Context(), strings.NewReader(modernCall("1", "echo", `{"text":"`+big+`"}`)), out); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != lastWords {
			t.Errorf("the end took %v", took)
		}
		unread.Close()
		_ = s.Close(context.Background())
	})
}

// The server's end, ctx's, and a client that is gone.
func TestStdioEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(s *Server, cancel func(), c *console, out *io.PipeReader)
		want string // of the error; "" is nil
	}{
		{"the server is closed", func(s *Server, _ func(), _ *console, _ *io.PipeReader) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = s.Close(ctx)
		}, ""},
		{"ctx", func(_ *Server, cancel func(), _ *console, _ *io.PipeReader) { cancel() }, "context canceled"},
		{"nobody reads", func(_ *Server, _ func(), c *console, out *io.PipeReader) {
			out.Close()
			c.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}, "write to the client: io: read/write on closed pipe"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
			s := deskServer(t, d, ServerOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in, feed := io.Pipe()
			unread, out := io.Pipe()
			defer unread.Close()
			ended := make(chan error, 1)
			go func() { ended <- s.ServeStdio(ctx, in, out) }()
			c := &console{t: t, in: feed}
			c.say(modernCall("1", "wait", "{}"))
			<-d.began
			test.end(s, cancel, c, unread)
			select {
			case err := <-ended:
				if err == nil && test.want != "" || err != nil && err.Error() != test.want {
					t.Errorf("error %v, want %s", err, test.want)
				}
			case <-time.After(deadline):
				t.Fatal("it goes on")
			}
			<-d.canceled
		})
	}
}

// A message over the limit is refused by its id, and the next one served.
func TestStdioOversized(t *testing.T) {
	c := newConsole(t, deskServer(t, &desk{}, ServerOptions{}))
	go func() {
		_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"x":"`)
		piece := strings.Repeat("x", 1<<20)
		for range 65 {
			_, _ = io.WriteString(c.in, piece)
		}
		_, _ = io.WriteString(c.in, "\"}}\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	}()
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"big","error":{"code":-32600,"message":"Invalid Request: 68157`) {
		t.Errorf("refusal %s", got)
	}
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("then %s", got)
	}
}
