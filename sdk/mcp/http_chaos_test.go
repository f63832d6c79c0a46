package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// chaos is a server of the initialize era that does anything to a call: it ends
// sessions, breaks connections before and after it ran the tool, stalls, answers
// in every way.
type chaos struct {
	mu    sync.Mutex
	alive string
	n     int
	ran   map[string]int // by the calls' arguments
}

func (s *chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e, _, err := scanEnvelope(append(body, "{}"...), 0)
	if err != nil {
		return // the client is gone
	}
	method, _ := text(e.method)
	s.mu.Lock()
	alive := r.Header.Get("Mcp-Session-Id") == s.alive
	if method == "initialize" {
		s.n++
		s.alive = fmt.Sprint("s", s.n)
		w.Header().Set("Mcp-Session-Id", s.alive)
	}
	s.mu.Unlock()
	switch {
	case r.Method == "DELETE":
	case r.Method == "GET":
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case method == "server/discover":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case method == "initialize":
		answerWith(w, e.id, `{"protocolVersion":"2025-06-18","capabilities":{}}`)
	case e.id == nil:
		w.WriteHeader(http.StatusAccepted)
	case !alive:
		w.WriteHeader(http.StatusNotFound)
	default:
		s.call(w, r, e)
	}
}

func (s *chaos) call(w http.ResponseWriter, r *http.Request, e envelope) {
	hangUp := func() {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
	}
	dice := rand.IntN(20)
	switch dice {
	case 0:
		s.mu.Lock()
		s.alive = ""
		s.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		return
	case 1:
		hangUp()
		return
	case 2:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	key := string(member(member(e.params, "arguments"), "key"))
	s.mu.Lock()
	s.ran[key]++
	s.mu.Unlock()
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"key":%s}}`, e.id, key)
	switch dice {
	case 3:
		hangUp()
	case 4:
		w.WriteHeader(http.StatusInternalServerError)
	case 5:
		<-r.Context().Done()
	case 6:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer[:len(answer)/2])
	case 7:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+answer[:len(answer)/2])
	case 8, 9, 10, 11:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\n\ndata: "+answer+"\n\n")
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}
}

// Whatever a server does, each call ends within its deadline with its own result
// or a failure, and no tool runs twice for one call.
func TestChaosOverHTTP(t *testing.T) {
	s := &chaos{ran: map[string]int{}}
	c := dial(t, Endpoint{URL: listenOn(t, s).URL}, Options{OnNotification: func(string, json.RawMessage) {}})
	var (
		wg       sync.WaitGroup
		good     atomic.Int32
		failures sync.Map
	)
	for worker := range 8 {
		wg.Go(func() {
			for i := range 60 {
				key := fmt.Sprintf(`"%d/%d"`, worker, i)
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				raw, err := c.CallTool(ctx, "x", json.RawMessage(`{"key":`+key+`}`), RequestOptions{})
				cancel()
				s.mu.Lock()
				ran := s.ran[key]
				s.mu.Unlock()
				if err == nil {
					good.Add(1)
					if string(raw) != `{"key":`+key+`}` || ran != 1 {
						t.Errorf("call %s: %s, ran %d times", key, raw, ran)
					}
					continue
				}
				f := asFailure(t, err)
				failures.Store(f.Class.String()+" "+f.Delivery.String(), true)
				if ran > 1 || ran > 0 && f.Delivery == failure.NotSent {
					t.Errorf("call %s ran %d times and ends with %s, %s: %s", key, ran, f.Class, f.Delivery, f.Message)
				}
			}
		})
	}
	wg.Wait()
	if good.Load() < 100 {
		t.Errorf("%d calls of 480 succeeded", good.Load())
	}
	failures.Range(func(kind, _ any) bool {
		t.Log(kind)
		return true
	})
}
