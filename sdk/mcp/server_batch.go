package mcp

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"
)

// batchVersion is the one version of MCP with batches: whoever speaks it has to take
// them (2025-03-26, base protocol, Batching). What each of them asks is answered by
// itself, which clients have to take as well.
const batchVersion = "2025-03-26"

// batchOf returns the messages of a batch, nil for what is none.
func batchOf(b []byte) (messages [][]byte) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' || !utf8.Valid(b) || checkDocument(b[i:]) != nil {
		return nil
	}
	_, _ = eachElement(b, i, 0, func(v []byte) { messages = append(messages, v) }) // it is one
	return messages
}

// errInBatch is the answer to what must not be in a batch (2025-03-26, Lifecycle,
// Initialization), and to what is of another version.
var errInBatch = &WireError{Code: codeInvalidRequest, Message: "Invalid Request: this must not be part of a batch"}

// postBatch takes a batch of a session.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, a *reply, messages [][]byte) {
	g := s.guestOf(w, r)
	if g == nil {
		return
	}
	defer g.leave()
	if g.client.caller.Version != batchVersion {
		a.json = true
		a.write(http.StatusBadRequest, errorResponse(nullID, codeInvalidRequest, noBatches, nil))
		return
	}
	if !slices.ContainsFunc(messages, asks) {
		for _, m := range messages {
			e, _ := readMessage(m)
			g.receive(e)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a.resume = g.open
	a.wait(quickAnswer)
	var all collected
	var running sync.WaitGroup
	answer := func(message []byte) {
		switch {
		case message == nil: // it was cancelled
		case a.events:
			a.say(message)
		default:
			all.add(message)
		}
	}
	for _, m := range messages {
		e, refusal := readMessage(m)
		switch {
		case refusal != nil:
			answer(firstLine(refusal))
		case e.method == nil || e.id == nil:
			g.receive(e)
		default:
			s.serveInBatch(r, a, g, e, answer, running.Go)
		}
	}
	running.Wait()
	if a.events {
		a.end(http.StatusOK, nil)
	} else {
		a.end(http.StatusOK, all.array())
	}
}

// asks says whether a message of a batch gets an answer: a request, or what is no
// message at all.
func asks(message []byte) bool {
	e, refusal := readMessage(message)
	return refusal != nil || e.method != nil && e.id != nil
}

// serveInBatch answers one request of a batch, beside the others.
func (s *Server) serveInBatch(r *http.Request, a *reply, g *guest, e envelope, answer func([]byte), spawn func(func())) {
	d, err := newDemand(e)
	if err == nil {
		var spoken string
		if spoken, err = d.modern(); spoken != "" || d.method == "initialize" {
			err = errInBatch
		}
	}
	if err != nil {
		answer(failedResponse(e.id, err))
		return
	}
	q, refusal := g.answers.begin(d.id)
	if q == nil {
		answer(refusal)
		return
	}
	spawn(func() { answer(s.serveGuest(r, a, g, q, d)) })
}

// serveGuest serves a request of a session, and returns its answer: nil when it was
// cancelled.
func (s *Server) serveGuest(r *http.Request, a *reply, g *guest, q *inquiry, d *demand) []byte {
	defer q.cancel()
	d.client, d.caller, d.level = g.client, g.client.as(s.opt.Principal(r)), g.client.logLevel()
	d.streamed, d.send = a.events, a.tell
	if a.events && g.client.mayAsk() {
		d.ask = g.ask(a)
	}
	defer context.AfterFunc(r.Context(), func() {
		if context.Cause(r.Context()) != context.Canceled {
			q.cancel() // not a lost connection: somebody has ended it, for good
			return
		}
		a.outlive(q)
	})()
	result, err := s.handle(outliving{q.ctx, r.Context()}, d)
	if !g.answers.close(q) {
		return nil
	}
	message, _ := s.answerTo(d, result, err)
	return message
}

// collected are the answers to a batch of a client that takes no event stream.
type collected struct {
	mu  sync.Mutex
	all [][]byte
}

func (c *collected) add(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, bytes.TrimRight(message, "\n"))
}

// array is all of them as one JSON array.
func (c *collected) array() []byte {
	return append(append([]byte{'['}, bytes.Join(c.all, []byte(","))...), "]\n"...)
}
