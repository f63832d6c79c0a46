package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// leveled is a server with sessions, each of which says in the answer to a call
// which log level it has.
type leveled struct {
	*httptest.Server
	capabilities string
	modern       bool
	slow         time.Duration // setLevel takes so long
	mute         bool          // setLevel is never answered

	mu     sync.Mutex
	opened int
	levels map[string]string // by session
	told   int
}

func newLeveled(t *testing.T, s *leveled) *leveled {
	s.levels = map[string]string{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *leveled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e, _, err := scanEnvelope(append(body, '{', '}'), 0)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := r.Header.Get(sessionHeader)
	method, _ := text(e.method)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, alive := s.levels[id]
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case method == "server/discover" && s.modern:
		answerWith(w, e.id, `{"supportedVersions":["2026-07-28"],"serverInfo":{"name":"s","version":"1"},"capabilities":`+s.capabilities+`}`)
	case method == "server/discover":
		http.Error(w, "Bad Request", http.StatusBadRequest)
	case method == "initialize":
		s.opened++
		id := fmt.Sprint("s", s.opened)
		s.levels[id] = "none"
		w.Header().Set(sessionHeader, id)
		answerWith(w, e.id, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":`+s.capabilities+`}`)
	case !alive && !s.modern:
		w.WriteHeader(http.StatusNotFound)
	case e.id == nil:
		w.WriteHeader(http.StatusAccepted)
	case method == "logging/setLevel":
		s.told++
		s.mu.Unlock()
		late := time.NewTimer(s.slow)
		defer late.Stop()
		select {
		case <-late.C:
		case <-r.Context().Done():
		}
		s.mu.Lock()
		if !s.mute {
			s.levels[id], _ = text(member(e.params, "level"))
			answerWith(w, e.id, `{}`)
		}
	default:
		answerWith(w, e.id, fmt.Sprintf(`{"content":[{"type":"text","text":"%s %s"}]}`, id, s.levels[id]))
	}
}

// Each session has its log level before its first call, the one that replaces an
// expired one too.
func TestLevelComesFirst(t *testing.T) {
	s := newLeveled(t, &leveled{capabilities: `{"logging":{}}`, slow: 100 * time.Millisecond})
	c := dial(t, Endpoint{URL: s.URL}, Options{LogLevel: "notice"})
	for _, want := range []string{"s1 notice", "s1 notice", "s2 notice", "s2 notice", "s3 notice"} {
		s.mu.Lock()
		if want[:2] != fmt.Sprint("s", s.opened) {
			clear(s.levels)
		}
		s.mu.Unlock()
		// At once, and beside each other: all wait for it.
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				raw, err := c.CallTool(t.Context(), "x", nil, RequestOptions{})
				if err != nil || !strings.Contains(string(raw), `"`+want+`"`) {
					t.Errorf("%s, %v, want %s", raw, err, want)
				}
			})
		}
		calls.Wait()
	}
}

// A server that takes no level is called all the same; lists never wait.
func TestLevelIsNotAwaitedForEver(t *testing.T) {
	s := newLeveled(t, &leveled{capabilities: `{"logging":{}}`, slow: time.Hour, mute: true})
	c := dial(t, Endpoint{URL: s.URL}, Options{LogLevel: "info"})
	began := time.Now()
	if _, err := c.Request(t.Context(), "tools/list", nil, RequestOptions{}); err != nil || time.Since(began) > levelWait/2 {
		t.Errorf("the list took %s, %v", time.Since(began), err)
	}
	if got := said(t, callTool(t, c, "x", `{}`)); got != "s1 none" {
		t.Errorf("the server said %s", got)
	}
	began = time.Now()
	if callTool(t, c, "x", `{}`); time.Since(began) > levelWait/2 {
		t.Errorf("the second call waited again: %s", time.Since(began))
	}
}

// Only who logs, by the older rules, is told.
func TestWhoIsToldALevel(t *testing.T) {
	for _, test := range []struct {
		server *leveled
		level  string
		want   int
	}{
		{&leveled{capabilities: `{"logging":{}}`}, "info", 1},
		{&leveled{capabilities: `{"logging":{}}`}, "", 0},
		{&leveled{capabilities: `{"tools":{}}`}, "info", 0},
		{&leveled{capabilities: `{"logging":{}}`, modern: true}, "info", 0},
	} {
		s := newLeveled(t, test.server)
		c := dial(t, Endpoint{URL: s.URL}, Options{LogLevel: test.level})
		if _, err := c.CallTool(t.Context(), "x", json.RawMessage(`{}`), RequestOptions{}); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		if s.told != test.want {
			t.Errorf("level %q, capabilities %s, modern %v: told %d times", test.level, s.capabilities, s.modern, s.told)
		}
		s.mu.Unlock()
	}
}
