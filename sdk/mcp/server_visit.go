package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxStreams bounds the streams of a session that are kept for a client that comes
	// back: those whose request is served, and the last ones that were answered.
	maxStreams = 16
	// resumeLimit is how long a request goes on whose client lost its connection.
	resumeLimit = 2 * time.Minute
	// maxMissed bounds what is kept for a session that reads no stream of what belongs
	// to no request.
	maxMissed = 64
)

// guestOf finds a request's session, or refuses the request.
func (s *Server) guestOf(w http.ResponseWriter, r *http.Request) *guest {
	ids := r.Header[sessionHeader]
	if len(ids) != 1 {
		refuse(w, http.StatusBadRequest, "There must be one "+sessionHeader+".")
		return nil
	}
	if v := r.Header.Get(versionHeader); v != "" && !slices.Contains(legacyVersions, v) {
		refuse(w, http.StatusBadRequest, versionHeader+" is none that has sessions; they are "+strings.Join(legacyVersions, ", ")+".")
		return nil
	}
	g := s.guests.enter(ids[0])
	if g == nil {
		refuse(w, http.StatusNotFound, "There is no such session.")
		return nil
	}
	if !s.opt.SamePrincipal(g.client.caller.Principal, s.opt.Principal(r)) {
		g.leave()
		refuse(w, http.StatusForbidden, "The session is somebody else's.")
		return nil
	}
	return g
}

// postInitialize opens a session.
func (s *Server) postInitialize(r *http.Request, a *reply, d *demand) {
	c, err := d.newClient()
	if err != nil {
		a.fail(d.id, err)
		return
	}
	c.caller.Principal = s.opt.Principal(r)
	d.caller = c.caller
	g := s.guests.admit(c)
	if g == nil {
		a.w.Header().Set("Retry-After", "10")
		refuse(a.w, http.StatusServiceUnavailable, "There are too many sessions.")
		return
	}
	a.w.Header()[sessionHeader] = []string{g.id}
	a.answer(d, s.initialize(r.Context(), c.caller), nil)
}

// postLegacy serves a request of a session.
func (s *Server) postLegacy(w http.ResponseWriter, r *http.Request, a *reply, d *demand) {
	g := s.guestOf(w, r)
	if g == nil {
		return
	}
	defer g.leave()
	q, refusal := g.answers.begin(d.id)
	if q == nil {
		if refusal == nil { // the session has just ended
			refuse(w, http.StatusNotFound, "There is no such session.")
			return
		}
		a.write(http.StatusOK, refusal)
		return
	}
	a.resume = g.open
	a.wait(quickAnswer)
	a.end(http.StatusOK, s.serveGuest(r, a, g, q, d))
}

// outliving is a ctx with the values of an HTTP request that it may outlive.
type outliving struct {
	context.Context
	request context.Context
}

// Value implements context.Context.
func (o outliving) Value(key any) any {
	if v := o.Context.Value(key); v != nil {
		return v
	}
	return o.request.Value(key)
}

// outlive has a request go on whose client lost the connection, for as long as it
// may come back; it cannot come back to a response that is no stream yet.
func (a *reply) outlive(q *inquiry) {
	t := a.resumable()
	if t == nil {
		q.cancel()
		return
	}
	q.expect(t)
}

// expect ends a request whose client does not come back to its stream.
func (q *inquiry) expect(t *stream) {
	late := time.AfterFunc(resumeLimit, func() {
		if t.read() {
			q.expect(t)
		} else {
			q.cancel()
		}
	})
	context.AfterFunc(q.ctx, func() { late.Stop() })
}

// open begins the stream of a request.
func (g *guest) open() *stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	t := &stream{number: g.last, first: 1, all: &g.s.guests.kept, gone: g.gone}
	if g.client.caller.Version >= "2025-11-25" && !g.gone {
		t.prime()
	}
	if len(g.streams) >= maxStreams {
		g.streams[0].forget()
		g.streams = slices.Delete(g.streams, 0, 1)
	}
	g.streams = append(g.streams, t)
	return t
}

// ask asks the client on the stream of one of its requests.
func (g *guest) ask(a *reply) asker {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		r, call, f := g.client.begin(ctx, method, params)
		if f != nil {
			return nil, f
		}
		g.mu.Lock()
		g.asking[call.id] = a
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			delete(g.asking, call.id)
			g.mu.Unlock()
		}()
		a.say(call.message)
		return g.client.finish(ctx, r, call)
	}
}

// questions sends what a session says of its own: that a question is cancelled, on
// the stream it was asked on.
type questions struct{ g *guest }

func (q questions) enqueue(o *outgoing) error {
	e, _, _ := scanEnvelope(o.message, 0)
	id, _ := parseID(member(e.params, "requestId"))
	q.g.mu.Lock()
	a := q.g.asking[id]
	q.g.mu.Unlock()
	if a == nil {
		return errClosed
	}
	a.tell(o.message)
	return nil
}

// withdraw implements sender: what is on a stream may have been read.
func (q questions) withdraw(*outgoing) bool { return false }

// receive takes what is not answered.
func (g *guest) receive(e envelope) {
	if e.method == nil {
		g.client.heard(e)
	} else {
		g.answers.notified(e)
	}
}

// tell sends what belongs to no request, now or when the client comes to read it.
func (g *guest) tell(message []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		g.idle.tell(message)
		return
	}
	if len(g.missed) < maxMissed && !slices.ContainsFunc(g.missed, func(m []byte) bool { return string(m) == string(message) }) {
		g.missed = append(g.missed, message)
	}
}

// visit serves GET and DELETE of a session.
func (s *Server) visit(w http.ResponseWriter, r *http.Request) {
	_, events := accepts(r.Header["Accept"])
	if r.Method == http.MethodGet && !events {
		refuse(w, http.StatusNotAcceptable, "The answer to GET is text/event-stream.")
		return
	}
	g := s.guestOf(w, r)
	if g == nil {
		return
	}
	defer g.leave()
	g.client.as(s.opt.Principal(r))
	if r.Method == http.MethodDelete {
		s.guests.dismiss(g)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var t *stream
	out := newWriter(steadyWriter{w: w, rc: http.NewResponseController(w), stream: true}, func(error) { t.fail() })
	if after := r.Header.Get("Last-Event-Id"); after != "" {
		number, event, ok := parseEventID(after)
		if t = g.stream(number); !ok || t == nil {
			refuse(w, http.StatusBadRequest, "The stream of that event is not kept any more.")
			return
		}
		t.attach(out, event)
	} else {
		t = g.readIdle(out)
		select {
		case <-s.over: // after hush, perhaps
			t.end(nil)
		default:
		}
	}
	startEvents(w)
	s.run(out, r.Context().Done())
	t.detach(out)
	g.forget(t)
}

// readIdle makes out the reader of what belongs to no request.
func (g *guest) readIdle(out *writer) *stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.idle
	g.idle = &stream{}
	g.idle.attach(out, 0)
	if before != nil {
		before.end(nil) // its connection may long be lost
	}
	for _, m := range g.missed {
		g.idle.tell(m)
	}
	g.missed = nil
	return g.idle
}

func (g *guest) forget(t *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == t {
		g.idle = nil
	}
}

func (g *guest) stream(number uint64) *stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.streams {
		if t.number == number {
			return t
		}
	}
	return nil
}

// parseEventID reads an id of ours, "3-14".
func parseEventID(id string) (number uint64, event int, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(a, 10, 64)
	event, err2 := strconv.Atoi(b)
	return number, event, err == nil && err2 == nil && event >= 0
}
