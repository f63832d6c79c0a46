package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// enqueue has a call made when it is its turn. s.mu is held.
func (s *session) enqueue(p *pending) {
	s.queue = append(s.queue, p)
	s.next()
}

// next starts what may run now, in the order of the script. s.mu is held.
func (s *session) next() {
	for s.running < s.limits.InFlight && s.unread < maxUnread && len(s.queue) > 0 && s.ctx.Err() == nil {
		p := s.queue[0]
		s.queue = s.queue[1:]
		s.running++
		s.work.Go(func() { s.serve(p) })
	}
}

// serve makes one call, or answers one question, and tells the script.
func (s *session) serve(p *pending) {
	defer func() { p.leave() }()
	begun := time.Now()
	s.announce(p, false)
	var value json.RawMessage
	var err error
	if p.call < 0 {
		value, err = s.answer(p.ask)
	} else {
		value, err = s.call(p)
	}
	notMade := errors.Is(err, ErrNotMade)
	if notMade {
		value, err = json.RawMessage(`{}`), nil
	}
	size := len(value)
	if err == nil && size > MaxResult {
		err = &ToolError{Code: CodeTooLarge, Message: fmt.Sprintf("the result has %d bytes, a script takes at most %d; the call itself succeeded", size, MaxResult)}
	}
	var refusal *ToolError
	if err != nil {
		refusal, value = asToolError(err), nil
	}
	n := len(value)
	s.mu.Lock()
	s.unread += n
	if p.call >= 0 {
		r := &s.calls[p.call]
		r.Duration, r.ResultBytes, r.Status = time.Since(begun), size, "ok"
		if notMade {
			r.Status, r.Arguments = "not-made", p.what.Arguments
		}
		if refusal != nil {
			r.Status, r.Code, r.Message = "error", refusal.Code, recorded(refusal.Message)
		}
	}
	s.running--
	s.next()
	s.mu.Unlock()
	s.announce(p, true)

	if refusal != nil {
		_ = s.process.write(wire.Refuse, p.id, refusal.frame())
	} else {
		_ = s.process.write(wire.Answer, p.id, value) // if it is gone nobody waits for this
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread -= n
	s.next()
}

// admit has a large result of a call wait for its place.
func (s *session) admit(p *pending) func(context.Context, int) (func(), error) {
	return func(ctx context.Context, bytes int) (func(), error) {
		p.leave()
		leave, err := s.room.enter(ctx, bytes)
		if err != nil {
			return nil, err
		}
		p.leave = leave
		return leave, nil
	}
}

func (s *session) call(p *pending) (json.RawMessage, error) {
	if p.bytes > MaxArguments {
		return nil, &ToolError{Code: CodeLimit, Message: fmt.Sprintf("the arguments have %d bytes, at most %d are allowed", p.bytes, MaxArguments)}
	}
	result, err := s.host.Call(s.ctx, Call{
		Server: p.what.Server, Tool: p.what.Tool, Arguments: p.what.Arguments, Timeout: time.Duration(p.what.TimeoutMs) * time.Millisecond,
		Parent: s.script.ID, ID: p.call + 1, Rest: s.clock.rest, Admit: s.admit(p),
	})
	if err != nil || p.what.Raw {
		return result, err
	}
	if value, refusal := unwrap(result); refusal != nil {
		return nil, refusal
	} else {
		return value, nil
	}
}

// answer answers a question about tools.
func (s *session) answer(q wire.Question) (json.RawMessage, error) {
	bad := &ToolError{Code: CodeArguments, Message: "the question cannot be read"}
	switch q.What {
	case "search":
		var args [2]json.RawMessage
		var query string
		var opt struct {
			Server string `json:"server"`
			Limit  int    `json:"limit"`
		}
		if json.Unmarshal(q.Args, &args) != nil || json.Unmarshal(args[0], &query) != nil || json.Unmarshal(args[1], &opt) != nil {
			return nil, bad
		}
		return s.host.Search(s.ctx, query, opt.Server, opt.Limit)
	case "describe":
		var names []string
		if json.Unmarshal(q.Args, &names) != nil {
			return nil, bad
		}
		text, err := s.host.Describe(s.ctx, names)
		return rawjson.AppendString(nil, text), err
	case "server":
		var names []string
		if json.Unmarshal(q.Args, &names) != nil || len(names) != 1 {
			return nil, bad
		}
		return s.host.Server(s.ctx, names[0])
	}
	return nil, bad
}

// announce tells OnCall, in order.
func (s *session) announce(p *pending, ended bool) {
	if p.call < 0 || s.script.OnCall == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script.OnCall(CallEvent{CallRecord: s.calls[p.call], Ended: ended, InFlight: s.running, Made: len(s.calls)})
}

// asToolError is any error of a Host as the script sees it.
func asToolError(err error) *ToolError {
	if e, ok := errors.AsType[*ToolError](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return &ToolError{Code: CodeCancelled, Message: "the call was canceled"}
	}
	return &ToolError{Code: CodeProtocol, Message: err.Error()}
}

// recorded is an error's message for the record of a call, which lasts as long as the
// script: a tool's text can be as large as a result, and a thousand calls may fail.
func recorded(message string) string {
	if len(message) <= maxRecorded {
		return message
	}
	return fmt.Sprintf("%s ... (%d bytes in all)", strings.ToValidUTF8(message[:maxRecorded], ""), len(message))
}

// frame is the error as it travels; details that are too large stay behind.
func (e *ToolError) frame() []byte {
	r := wire.Refusal{Code: string(e.Code), Message: e.Message, Details: e.Details, Retryable: e.Retryable}
	if len(r.Details) > maxRefusal {
		r.Details = nil
	}
	if len(r.Message) > maxRefusal {
		r.Message = r.Message[:maxRefusal]
	}
	b, err := json.Marshal(r)
	if err != nil { // details are no JSON
		r.Details = nil
		b, _ = json.Marshal(r)
	}
	return b
}
