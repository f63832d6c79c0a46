package mcp

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"sync"
)

// messagePath is where clients of the HTTP+SSE transport are told to post to.
const messagePath = "/mcp/message"

// oldClients are the clients of the HTTP+SSE transport (2024-11-05).
type oldClients struct {
	mu   sync.Mutex
	byID map[string]*channel
}

// SSE returns the two endpoints of the HTTP+SSE transport of 2024-11-05: the stream,
// and where its client posts, which must be served as /mcp/message beside it.
func (s *Server) SSE() (stream, message http.Handler) {
	return http.HandlerFunc(s.serveOldStream), http.HandlerFunc(s.serveOldMessage)
}

func (s *Server) serveOldStream(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, "The server is closed.")
		return
	}
	defer s.work.Done()
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		refuse(w, http.StatusMethodNotAllowed, "There is GET only.")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.base, cancel)()
	out := newWriter(steadyWriter{w: w, rc: http.NewResponseController(w), stream: true}, func(error) { cancel() })
	id := rand.Text()
	_ = out.enqueue(&outgoing{message: []byte("event: endpoint\ndata: " + messagePath + "?sessionId=" + url.QueryEscape(id) + "\n\n")})
	c := s.newChannel(ctx, out, oldEvent, Caller{Session: id, Principal: s.opt.Principal(r)})
	if !s.olds.add(id, c, s.opt.MaxSessions) {
		c.leave()
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "There are too many clients.")
		return
	}
	defer c.leave()
	defer s.olds.remove(id)
	defer context.AfterFunc(ctx, out.finish)()
	closing := make(chan struct{})
	defer func() { <-closing }()
	over, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // waited for above
		defer close(closing)
		select {
		case <-s.over:
			c.drain(ctx)
			cancel()
		case <-over.Done():
		}
	}()
	startEvents(w)
	s.run(out, ctx.Done())
}

func oldEvent(message []byte) []byte {
	return append([]byte("event: message\n"), eventOf(message)...)
}

func (s *Server) serveOldMessage(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, "The server is closed.")
		return
	}
	defer s.work.Done()
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "There is POST only.")
		return
	}
	principal := s.opt.Principal(r)
	c := s.olds.of(r.URL.Query().Get("sessionId"))
	switch {
	case c == nil:
		refuse(w, http.StatusNotFound, "There is no such session.")
		return
	case !s.opt.SamePrincipal(c.who.Principal, principal):
		refuse(w, http.StatusForbidden, "The session is somebody else's.")
		return
	}
	body, ok := s.readBody(w, r)
	if !ok {
		return
	}
	c.out.room()
	c.receive(body, c.who.as(principal))
	w.WriteHeader(http.StatusAccepted)
}

func (o *oldClients) add(id string, c *channel, max int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.byID) >= max {
		return false
	}
	if o.byID == nil {
		o.byID = map[string]*channel{}
	}
	o.byID[id] = c
	return true
}

func (o *oldClients) remove(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byID, id)
}

func (o *oldClients) of(id string) *channel {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byID[id]
}
