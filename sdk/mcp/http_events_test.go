package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// resuming is a server of the initialize era whose calls begin a stream with one
// event and leave it; the rest is up to resume.
func resuming(begin string, resume http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, _, _ := scanEnvelope(append(body, "{}"...), 0)
		switch method, _ := text(e.method); {
		case r.Method == "GET":
			resume(w, r)
		case method == "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
		case method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			answerWith(w, e.id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
		case e.id == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, begin)
		}
	})
}

// A stream that ends without its answer is taken up after the last event that
// was seen, as often as the server wants it.
func TestResume(t *testing.T) {
	var gets []string
	c := dial(t, Endpoint{URL: listenOn(t, resuming("id: a\nretry: 1\ndata:\n\n", func(w http.ResponseWriter, r *http.Request) {
		gets = append(gets, r.Header.Get("Last-Event-Id")+" "+r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Mcp-Protocol-Version"))
		w.Header().Set("Content-Type", "text/event-stream")
		switch len(gets) {
		case 1: // nothing new
		case 2:
			io.WriteString(w, "id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,\"progress\":1}}\n\n")
		case 3:
			w.Header().Del("Content-Type")
			http.Error(w, "not now", http.StatusServiceUnavailable)
		default:
			io.WriteString(w, "id: c\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"ok\":1}}\n\n")
		}
	})).URL}, Options{})
	progress := 0
	got, err := c.CallTool(within(t), "x", nil, RequestOptions{OnProgress: func(Progress) { progress++ }})
	if err != nil || string(got) != `{"ok":1}` || progress != 1 {
		t.Errorf("%s, %v, %d progress", got, err, progress)
	}
	if want := []string{"a s 2025-11-25", "a s 2025-11-25", "b s 2025-11-25", "b s 2025-11-25"}; !slices.Equal(gets, want) {
		t.Errorf("taken up after %q, want %q", gets, want)
	}
}

// A stream that cannot be taken up fails its call alone.
func TestResumeFails(t *testing.T) {
	for name, test := range map[string]struct {
		begin  string
		resume http.HandlerFunc
		gets   int32
		part   string
	}{
		"no id":   {"data:\n\n", nil, 0, "ended its stream without an answer"},
		"refused": {"id: a\nretry: 1\n\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, 1, "405"},
		"no stream": {"id: a\nretry: 1\n\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{}")
		}, 1, "200"},
		"broken": {"id: a\nretry: 1\n\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, maxResumes, "502"},
	} {
		t.Run(name, func(t *testing.T) {
			var gets atomic.Int32
			c := dial(t, Endpoint{URL: listenOn(t, resuming(test.begin, func(w http.ResponseWriter, r *http.Request) {
				gets.Add(1)
				test.resume(w, r)
			})).URL}, Options{})
			wantFailure(t, callFails(t, c, "x", "{}"), failure.ConnectionRefused, failure.DeliveryUnknown, test.part)
			if n := gets.Load(); n != test.gets {
				t.Errorf("%d attempts, want %d", n, test.gets)
			}
		})
	}
	t.Run("deadline", func(t *testing.T) {
		c := dial(t, Endpoint{URL: listenOn(t, resuming("id: a\n\n", nil)).URL}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := c.CallTool(ctx, "x", nil, RequestOptions{})
		wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
	})
}

func TestProgressOverHTTP(t *testing.T) {
	for _, faults := range []string{"", "modern"} {
		c := dial(t, Endpoint{URL: serve(t, faults).url}, Options{})
		var got []Progress // never after CallTool returned: -race would tell
		_, err := c.CallTool(within(t), "t_progress", json.RawMessage(`{"ms":3,"step":1}`), RequestOptions{
			OnProgress: func(p Progress) { got = append(got, p) },
		})
		if want := []Progress{{1, 3, "step 1"}, {2, 3, "step 2"}, {3, 3, "step 3"}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("progress %v, %v; want %v", got, err, want)
		}
	}
}

// However many streams are read at a time, notifications come one by one.
func TestNotificationsOneByOne(t *testing.T) {
	n := 0 // -race would tell
	c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(w http.ResponseWriter, _ *http.Request, e envelope) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 10 {
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", e.id)
	})).URL}, Options{OnNotification: func(string, json.RawMessage) { n++ }})
	ctx := within(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.CallTool(ctx, "x", nil, RequestOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n != 160 {
		t.Errorf("%d notifications, want 160", n)
	}
}

// A server that leaves streams open costs a moment at first and then none.
func TestStreamsLeftOpen(t *testing.T) {
	var open atomic.Int32
	c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(w http.ResponseWriter, r *http.Request, e envelope) {
		open.Add(1)
		defer open.Add(-1)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", e.id)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})).URL}, Options{})
	for range 10 {
		callTool(t, c, "x", "{}")
	}
	if n := c.link.(*httpLink).impolite.Load(); n != maxImpolite {
		t.Errorf("waited %d times, want %d", n, maxImpolite)
	}
	eventually(t, func() bool { return open.Load() == 0 }, "streams stayed open")
}

// A session that was replaced makes the lists suspect.
func TestRenewalTellsOfChanges(t *testing.T) {
	got := make(changes, 4)
	w := serve(t, "sess404,get405", "-n", "1")
	c := dial(t, Endpoint{URL: w.url}, got.option())
	echoes(t, c)
	echoes(t, c)
	if n := got.next(t); n != "notifications/tools/list_changed " {
		t.Errorf("got %s", n)
	}
}
