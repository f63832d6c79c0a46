package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// oldServer speaks HTTP+SSE to one client at a time.
type oldServer struct {
	first    string // the first event
	postCode int    // the status of calls; 0 is 202
	events   chan string
	posted   atomic.Int32
	quit     chan struct{} // ends the stream
}

func newOldServer(t *testing.T) (*oldServer, *httptest.Server) {
	o := &oldServer{first: "event: endpoint\ndata: /post?session=1\n\n", events: make(chan string, 16), quit: make(chan struct{})}
	s := listenOn(t, o)
	t.Cleanup(s.CloseClientConnections)
	return o, s
}

func (o *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "GET":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, o.first)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case e := <-o.events:
				io.WriteString(w, "event: message\ndata: "+e+"\n\n")
			case <-o.quit:
				return
			case <-r.Context().Done():
				return
			}
		}
	case r.URL.RequestURI() != "/post?session=1":
		http.Error(w, "Cannot POST", http.StatusNotFound)
	default:
		o.posted.Add(1)
		body, _ := io.ReadAll(r.Body)
		e, _, _ := scanEnvelope(body, 0)
		method, _ := text(e.method)
		switch {
		case e.id == nil:
		case method == "initialize":
			o.events <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}`, e.id)
		case o.postCode != 0:
			http.Error(w, "no", o.postCode)
			return
		default:
			if name, _ := text(member(e.params, "name")); name != "hold" {
				o.events <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, e.id)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func TestOldTransport(t *testing.T) {
	o, s := newOldServer(t)
	got := make(changes, 4)
	c := dial(t, Endpoint{URL: s.URL + "/sse"}, got.option())
	if v := c.Server(); v.ProtocolVersion != "2024-11-05" || v.Modern {
		t.Errorf("server %+v", v)
	}
	callTool(t, c, "echo", "{}")
	o.events <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	if n := got.next(t); n != "notifications/tools/list_changed " {
		t.Errorf("got %s", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	posted := o.posted.Load()
	_, err := c.CallTool(ctx, "hold", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
	eventually(t, func() bool { return o.posted.Load() == posted+2 }, "no cancellation was sent")

	// The stream is the connection: with it ends what is open, and the client.
	open := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), "hold", nil, RequestOptions{})
		open <- err
	}()
	eventually(t, func() bool { return o.posted.Load() == posted+3 }, "the call never arrived")
	close(o.quit)
	wantFailure(t, asFailure(t, <-open), failure.ConnectionRefused, failure.DeliveryUnknown, "stream ended")
	<-c.Done()
	wantFailure(t, asFailure(t, c.Err()), failure.ConnectionRefused, failure.DeliveryUnknown, "stream ended")
	wantFailure(t, callFails(t, c, "echo", "{}"), failure.ConnectionRefused, failure.NotSent)
}

func TestOldTransportRefuses(t *testing.T) {
	o, s := newOldServer(t)
	c := dial(t, Endpoint{URL: s.URL}, Options{})
	for status, class := range map[int]failure.Class{500: failure.ServerError, 401: failure.AuthFailure, 429: failure.RateLimited} {
		o.postCode = status
		wantFailure(t, callFails(t, c, "echo", "{}"), class, failure.Answered)
	}
	o.postCode = 0
	callTool(t, c, "echo", "{}")
}

// A first event that is no endpoint of the same origin is refused, and nothing is
// sent to it.
func TestOldTransportEndpoints(t *testing.T) {
	var elsewhere atomic.Int32
	other := listenOn(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	for name, test := range map[string]struct {
		first, part string
		delivery    failure.Delivery
	}{
		"other origin": {"event: endpoint\ndata: " + other.URL + "/post\n\n", "another origin", failure.NotSent},
		"other scheme": {"event: endpoint\ndata: file:///etc/passwd\n\n", "another origin", failure.NotSent},
		"no URL":       {"event: endpoint\ndata: http://[\n\n", "no URL", failure.Answered},
		"no endpoint":  {"event: message\ndata: {}\n\n", "no endpoint", failure.Answered},
		"the end":      {"", "before it named an endpoint", failure.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			o, s := newOldServer(t)
			o.first = test.first
			if test.first == "" {
				close(o.quit)
			}
			f := dialFails(t, Endpoint{URL: s.URL, Header: http.Header{"X-Secret": {"s"}}})
			if f.Delivery != test.delivery || !strings.Contains(f.Message, test.part) {
				t.Errorf("%s, %s: %s", f.Class, f.Delivery, f.Message)
			}
			if o.posted.Load()+elsewhere.Load() != 0 {
				t.Error("something was posted")
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		o, s := newOldServer(t)
		o.first = ""
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := Dial(ctx, Endpoint{URL: s.URL}, Options{})
		wantFailure(t, asFailure(t, err), failure.ServerError, failure.Answered, "404")
	})
}

// A stream that never answers is bounded by the call, and requests of the server
// are answered by POST.
func TestOldTransportAnswers(t *testing.T) {
	o, s := newOldServer(t)
	c := dial(t, Endpoint{URL: s.URL}, Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"roots":[]}`), nil
	}})
	posted := o.posted.Load()
	o.events <- `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
	eventually(t, func() bool { return o.posted.Load() == posted+1 }, "no answer was posted")
	o.events <- strings.Repeat("x", 100)
	callTool(t, c, "echo", "{}")
}
