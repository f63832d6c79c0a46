package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// quickAnswer is how long a request over HTTP may take until its response becomes
// an event stream, which can be kept alive.
const quickAnswer = 2 * time.Second

// HTTP returns the endpoint of Streamable HTTP for both eras: stateless requests of
// 2026-07-28, and sessions of 2025-03-26 to 2025-11-25. It looks at neither path,
// Host, Origin nor Authorization, which are for what stands in front of it.
func (s *Server) HTTP() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, "The server is closed.")
		return
	}
	defer s.work.Done()
	switch r.Method {
	case http.MethodPost:
		s.post(w, r)
	case http.MethodGet, http.MethodDelete:
		// Only sessions have these, so only a client with one is not told that there are
		// none (2026-07-28, Streamable HTTP).
		if len(r.Header[sessionHeader]) == 0 {
			w.Header().Set("Allow", "POST")
			refuse(w, http.StatusMethodNotAllowed, "Without "+sessionHeader+" there is only POST.")
			return
		}
		s.visit(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "There are GET, POST and DELETE.")
	}
}

// refuse answers what is no JSON-RPC.
func refuse(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) }

// post takes a message of either era.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	a := &reply{s: s, w: w, r: r}
	if a.json, a.events = accepts(r.Header["Accept"]); !a.json && !a.events {
		refuse(w, http.StatusNotAcceptable, "Answers are application/json or text/event-stream.")
		return
	}
	body, ok := s.readBody(w, r)
	if !ok {
		return
	}
	if len(r.Header[sessionHeader]) > 0 && !isModern(r) {
		if messages := batchOf(body); messages != nil {
			s.postBatch(w, r, a, messages)
			return
		}
	}
	e, refusal := readMessage(body)
	if refusal != nil {
		a.json = true // there may be several, and none of them belongs on a stream
		a.write(http.StatusBadRequest, firstLine(refusal))
		return
	}
	if e.method == nil || e.id == nil {
		s.postOneWay(w, r, a, e)
		return
	}
	d, err := newDemand(e)
	var spoken string
	if err == nil {
		spoken, err = d.modern()
	}
	if d.caller != nil {
		d.caller.Principal = s.opt.Principal(r)
	}
	if d.params == nil || isObject(d.params) {
		if mismatch := s.checkHeaders(r, d, spoken); mismatch != nil {
			err = mismatch
		}
	}
	switch {
	case err != nil:
		a.fail(d.id, err)
	case spoken != "":
		s.postModern(r, a, d)
	case d.method == "initialize":
		s.postInitialize(r, a, d)
	default:
		s.postLegacy(w, r, a, d)
	}
}

// postOneWay takes a message that is not answered.
func (s *Server) postOneWay(w http.ResponseWriter, r *http.Request, a *reply, e envelope) {
	if len(r.Header[sessionHeader]) > 0 && !isModern(r) {
		g := s.guestOf(w, r)
		if g == nil {
			return
		}
		defer g.leave()
		g.receive(e)
	} else if e.method == nil {
		// A modern client is never asked.
		a.write(http.StatusBadRequest, errorResponse(nullID, codeInvalidRequest, "Invalid Request: nothing was asked", nil))
		return
	} else if method, _ := text(e.method); !isModern(r) && method != "notifications/cancelled" {
		refuse(w, http.StatusBadRequest, "Without "+sessionHeader+" there is nothing that could be told.")
		return
	}
	// A modern client cancels by closing the stream, and has no other news.
	w.WriteHeader(http.StatusAccepted)
}

// isModern says whether a request's header is one of the modern era.
func isModern(r *http.Request) bool {
	v := r.Header.Get(versionHeader)
	return v != "" && !slices.Contains(legacyVersions, v)
}

// readBody reads a request's body, or refuses it.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" ||
		params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json.")
		return nil, false
	}
	if r.ContentLength > s.opt.MaxBody {
		refuse(w, http.StatusRequestEntityTooLarge, "The body is too large.")
		return nil, false
	}
	limited := http.MaxBytesReader(w, r.Body, s.opt.MaxBody)
	body, err := readAll(limited, r.ContentLength)
	if err == nil {
		return body, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, http.StatusRequestEntityTooLarge, "The body is too large.")
	} else {
		refuse(w, http.StatusBadRequest, "The body ended early.")
	}
	return nil, false
}

// readAll reads to the end; size is how much there should be, or -1. What a header
// claims is believed up to a point only.
func readAll(r io.Reader, size int64) ([]byte, error) {
	const believed = 64 << 10
	if size < 0 || size > believed {
		return io.ReadAll(r)
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

// accepts reads the Accept header; without one, all is accepted (RFC 9110 section
// 12.5.1). The specification asks clients to accept both types, but who accepts one
// is served as well.
func accepts(header []string) (json, events bool) {
	if len(header) == 0 {
		return true, true
	}
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if q := strings.ReplaceAll(params, " ", ""); q == "q=0" || q == "q=0.0" {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				return true, true
			}
		}
	}
	return json, events
}

// firstLine is the first of the answers to a batch: over HTTP there is one.
func firstLine(b []byte) []byte {
	for i, c := range b {
		if c == '\n' {
			return b[:i+1]
		}
	}
	return b
}

// postModern serves a request of the modern era.
func (s *Server) postModern(r *http.Request, a *reply, d *demand) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.base, cancel)()
	a.cancel = cancel
	d.streamed, d.send = a.events, a.tell
	if d.method == "subscriptions/listen" {
		s.listen(ctx, a, d)
		return
	}
	a.wait(quickAnswer)
	result, err := s.handle(ctx, d)
	a.answer(d, result, err)
}

// listen serves a subscriptions/listen.
func (s *Server) listen(ctx context.Context, a *reply, d *demand) {
	if !a.events {
		refuse(a.w, http.StatusNotAcceptable, "A subscription is text/event-stream.")
		return
	}
	u, err := s.subscribe(ctx, d, a.tell)
	if err != nil {
		a.answer(d, nil, err)
		return
	}
	a.answer(d, s.follow(ctx, u, s.over), nil)
}
