package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// echo ends a request of ours that comes back as it was sent, and reports
// whether this is one. Answered, the answer would come back as well, and pass
// for the peer's.
func (s *session) echo(e envelope) bool {
	id, ok := parseID(e.id)
	if !ok {
		return false
	}
	s.mu.Lock()
	c := s.pending[id]
	s.mu.Unlock()
	if c == nil || e.params == nil || !bytes.HasSuffix(c.message, slices.Concat([]byte(`,"method":`), e.method, []byte(`,"params":`), e.params, []byte("}\n"))) {
		return false
	}
	s.answer(id, nil, invalidAnswer("it sends back what it is sent, as cat does: it is no MCP server"))
	return true
}

// fromPeer handles the peer's requests and notifications. A request gets its
// answer at once, unless the caller answers it. of is the request of ours that
// the stream belongs to, or nil.
func (s *session) fromPeer(e envelope, of *call) {
	method, ok := text(e.method)
	switch {
	case !ok:
		if e.id != nil {
			s.replyError(e.id, codeInvalidRequest, "Invalid Request: method is not a string")
		}
	case e.id == nil && method == "notifications/progress":
		s.onProgress(e.params)
	case e.id == nil && s.subscription(method, e.params):
	case e.id == nil && method == "notifications/cancelled" && s.answers != nil && s.answers.cancel(member(e.params, "requestId")):
	case e.id == nil && of != nil && of.noted != nil && of.noted(method, json.RawMessage(e.params)):
	case e.id == nil:
		s.tell(method, json.RawMessage(e.params))
	case s.echo(e):
	case method == "ping":
		s.reply(response(e.id, json.RawMessage("{}"), nil))
	case s.answers != nil:
		answerer := s.answerer
		if of != nil && of.asked != nil {
			answerer = of.asked
		}
		refusal := s.answers.start(e.id, func(q *inquiry) {
			result, err := answerer(q.ctx, method, json.RawMessage(e.params))
			if s.answers.close(q) {
				s.reply(response(e.id, result, err))
			}
		})
		if refusal != nil {
			s.reply(refusal)
		}
	default:
		s.refused.Add(1)
		s.log.Debug("refused a request of the server", "method", method)
		s.replyError(e.id, codeMethodNotFound, "Method not found")
	}
}

// subscription takes what concerns the open subscription itself and says whether
// it did. A server may end it with an answer or by cancelling it (2026-07-28,
// Subscriptions and Cancellation, which disagree).
func (s *session) subscription(method string, params []byte) bool {
	acknowledged := method == "notifications/subscriptions/acknowledged"
	if !acknowledged && method != "notifications/cancelled" {
		return false
	}
	s.mu.Lock()
	w := s.watch
	s.mu.Unlock()
	if acknowledged {
		if w != nil {
			w.acknowledged(json.RawMessage(params))
		}
		return true
	}
	id, ok := parseID(member(params, "requestId"))
	if !ok || w == nil || id != w.id {
		return false
	}
	s.answer(id, json.RawMessage("{}"), nil)
	return true
}

// tell hands a notification to the caller.
func (s *session) tell(method string, params json.RawMessage) {
	if s.notify != nil {
		s.telling.Lock() // streams of HTTP are read side by side
		defer s.telling.Unlock()
		s.notify(method, params)
	}
}

// replyError answers a request of the peer; id is echoed as it came.
func (s *session) replyError(id []byte, code int, message string) {
	s.reply(errorResponse(id, code, message, nil))
}

// onProgress routes progress by its token, which is the request's id. Progress
// for a request that was answered is dropped.
func (s *session) onProgress(params []byte) {
	id, ok := parseID(member(params, "progressToken"))
	done, valid := number(member(params, "progress"))
	if !ok || !valid {
		return
	}
	s.mu.Lock()
	c := s.pending[id]
	if c == nil || c.progress == nil {
		s.mu.Unlock()
		return
	}
	c.running.Lock() // under mu: do cannot return between the lookup and this
	s.mu.Unlock()
	defer c.running.Unlock()
	p := Progress{Done: done}
	p.Total, _ = number(member(params, "total"))
	p.Message, _ = text(member(params, "message"))
	c.progress(p)
}

func number(value []byte) (float64, bool) {
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}
