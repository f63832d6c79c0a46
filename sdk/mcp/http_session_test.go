package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// A session that expires is replaced, and the calls it refused run once more.
func TestSessionExpires(t *testing.T) {
	w := serve(t, "sess404", "-n", "3")
	c := dial(t, Endpoint{URL: w.url}, Options{})
	for range 20 {
		echoes(t, c)
	}
	if n := w.times(t, "POST", "initialize"); n != 7 {
		t.Errorf("%d sessions for 20 calls of 3 each, want 7", n)
	}
	if n := w.times(t, "POST", "notifications/initialized"); n != 7 {
		t.Errorf("%d times initialized, want 7", n)
	}
	if n := w.times(t, "POST", "tools/call"); n != 26 {
		t.Errorf("%d calls arrived, want 20 and 6 that were refused", n)
	}
}

// A session that never lives is asked for twice and not for ever.
func TestSessionNeverLives(t *testing.T) {
	w := serve(t, "sess404-always")
	c := dial(t, Endpoint{URL: w.url}, Options{})
	f := callFails(t, c, "echo", "{}")
	wantFailure(t, f, failure.ServerError, failure.Answered, "Session not found", "refused the new session, too")
	if n := w.times(t, "POST", "initialize"); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

// sessions is a server with sessions that a test can end.
type sessions struct {
	*httptest.Server
	refuse           func(w http.ResponseWriter, id string) // what a dead session hears
	mu               sync.Mutex
	alive            map[string]bool
	opened           int
	calls            atomic.Int32
	held             chan struct{}  // calls of the tool "hold" wait for it
	cut              chan struct{}  // ends one stream
	crowd            sync.WaitGroup // initialize waits for it
	streams, deleted atomic.Int32
}

func newSessions(t *testing.T) *sessions {
	s := &sessions{alive: map[string]bool{}, held: make(chan struct{}), cut: make(chan struct{})}
	s.refuse = func(w http.ResponseWriter, _ string) { http.Error(w, "Not Found", http.StatusNotFound) }
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *sessions) endAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.alive)
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e, _, err := scanEnvelope(append(body, '{', '}'), 0)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	method, _ := text(e.method)
	s.mu.Lock()
	alive := s.alive[r.Header.Get("Mcp-Session-Id")]
	if method == "initialize" {
		s.opened++
		id := fmt.Sprint("s", s.opened)
		s.alive[id] = true
		alive = true
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.mu.Unlock()
	switch {
	case method == "server/discover":
		http.Error(w, "Bad Request", http.StatusBadRequest)
	case !alive:
		s.refuse(w, string(e.id))
	case r.Method == "GET":
		s.streams.Add(1)
		defer s.streams.Add(-1)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.cut:
		case <-r.Context().Done():
		}
	case r.Method == "DELETE":
		s.deleted.Add(1)
	case e.id == nil:
		w.WriteHeader(http.StatusAccepted)
	case method == "initialize":
		s.crowd.Wait()
		answerWith(w, e.id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
	default:
		s.calls.Add(1)
		if name, _ := text(member(e.params, "name")); name == "hold" {
			select {
			case <-s.held:
			case <-r.Context().Done():
			}
		}
		answerWith(w, e.id, `{"content":[{"type":"text","text":"hi"}]}`)
	}
}

func answerWith(w http.ResponseWriter, id []byte, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// Ten calls that meet an expired session share one new one, while a call on the
// old one ends in peace and takes the old stream with it.
func TestSessionSharedRenewal(t *testing.T) {
	s := newSessions(t)
	c := dial(t, Endpoint{URL: s.URL}, Options{OnNotification: func(string, json.RawMessage) {}})
	ctx := within(t)
	eventually(t, func() bool { return s.streams.Load() == 1 }, "no stream was opened")
	held := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "hold", nil, RequestOptions{})
		held <- err
	}()
	eventually(t, func() bool { return s.calls.Load() == 1 }, "the call never arrived")
	s.endAll()
	s.crowd.Add(10) // no new session before all of them were refused
	s.refuse = func(w http.ResponseWriter, _ string) {
		s.crowd.Done()
		w.WriteHeader(http.StatusNotFound)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := c.CallTool(ctx, "echo", nil, RequestOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.opened != 2 {
		t.Errorf("%d sessions, want 2", s.opened)
	}
	eventually(t, func() bool { return s.streams.Load() == 2 }, "no stream of the new session, or the old one closed with a call on it")
	close(s.held)
	if err := <-held; err != nil {
		t.Errorf("the call on the old session: %v", err)
	}
	eventually(t, func() bool { return s.streams.Load() == 1 }, "the old stream outlived its last call")
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := s.deleted.Load(); n != 1 {
		t.Errorf("%d sessions deleted, want the last one", n)
	}
}

// A session that ends while nobody calls is noticed by its stream, once that had
// been one; nobody would be told of changes otherwise.
func TestSessionExpiresQuietly(t *testing.T) {
	s := newSessions(t)
	c := dial(t, Endpoint{URL: s.URL}, Options{OnNotification: func(string, json.RawMessage) {}})
	eventually(t, func() bool { return s.streams.Load() == 1 }, "no stream was opened")
	time.Sleep(followDelay + followDelay/10) // the stream lasts
	s.endAll()
	s.cut <- struct{}{}
	eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.opened == 2 && s.streams.Load() == 1
	}, "no new session with a stream")
	callTool(t, c, "echo", "{}")
}

// What counts as an expired session, and what is an answer.
func TestSessionRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string // ID is the request's
		renews bool
	}{
		{"404", 404, "gone", true},
		{"404 with our id", 404, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}}`, true},
		{"404 method not found", 404, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`, false},
		{"410", 410, "", true},
		{"400", 400, "No valid session ID provided", true},
		{"400 without id", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`, true},
		{"400 with our id", 400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}`, false},
		{"405", 405, "", false},
		{"500", 500, "", false},
		{"401", 401, "", false},
		{"429", 429, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSessions(t)
			s.refuse = func(w http.ResponseWriter, id string) {
				w.WriteHeader(test.status)
				io.WriteString(w, strings.ReplaceAll(test.body, "ID", id))
			}
			c := dial(t, Endpoint{URL: s.URL}, Options{})
			s.endAll()
			_, err := c.CallTool(within(t), "echo", nil, RequestOptions{})
			if test.renews != (err == nil) {
				t.Errorf("the call ends with %v", err)
			}
			if renewed := s.opened == 2; renewed != test.renews {
				t.Errorf("%d sessions, want a new one: %v", s.opened, test.renews)
			}
		})
	}
}

// A server that is gone when the session expires fails the call, not the client.
func TestSessionRenewalFails(t *testing.T) {
	s := newSessions(t)
	var refusing atomic.Bool
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusing.Load() && r.Header.Get("Mcp-Session-Id") == "" {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})
	c := dial(t, Endpoint{URL: s.URL}, Options{})
	s.endAll()
	refusing.Store(true)
	wantFailure(t, callFails(t, c, "echo", "{}"), failure.RateLimited, failure.Answered, "gave no new one", "starting")
	refusing.Store(false)
	callTool(t, c, "echo", "{}")
}

func TestDelete(t *testing.T) {
	for _, fault := range []string{"", "delete405", "nosession", "modern"} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault)
			c := dial(t, Endpoint{URL: w.url}, Options{})
			if err := c.Close(within(t)); err != nil {
				t.Error(err)
			}
			want := 1
			if fault == "nosession" || fault == "modern" {
				want = 0
			}
			if n := w.times(t, "DELETE", ""); n != want {
				t.Errorf("%d DELETEs, want %d", n, want)
			}
			<-c.Done()
			wantFailure(t, asFailure(t, c.Err()), failure.ConnectionRefused, failure.DeliveryUnknown, "closed")
			wantFailure(t, callFails(t, c, "echo", "{}"), failure.ConnectionRefused, failure.NotSent, "closed")
		})
	}
	t.Run("delete-hang", func(t *testing.T) {
		c := dial(t, Endpoint{URL: serve(t, "delete-hang").url}, Options{})
		began := time.Now()
		if err := c.Close(within(t)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > deadline/3 {
			t.Errorf("Close took %s", took)
		}
	})
	t.Run("in a hurry", func(t *testing.T) {
		c := dial(t, Endpoint{URL: serve(t, "delete-hang").url}, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > byeTimeout {
			t.Errorf("Close took %s", took)
		}
	})
}
