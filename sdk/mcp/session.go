package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/collet-dev/collet/sdk/failure"
)

// cancelReason goes to the peer with every cancellation. It is fixed, so that
// nothing of the caller's side leaks into a stranger's log.
const cancelReason = "no longer needed"

// sender is what a session needs of a transport below it.
type sender interface {
	// enqueue hands over one message and never blocks.
	enqueue(*outgoing) error
	// withdraw says whether the message was never begun, and then it never will be.
	withdraw(*outgoing) bool
}

// session is JSON-RPC 2.0 between two peers: it numbers requests, matches
// answers and progress with them, and answers the peer's own requests.
// A transport feeds it through message and broken, one message of a stream after
// the other.
type session struct {
	out    sender
	log    *slog.Logger
	notify func(method string, params json.RawMessage)
	// answerer answers the peer's requests, of which answers keeps track; both nil
	// refuse them.
	answerer Answerer
	answers  *answers
	telling  sync.Mutex // held while notify runs

	mu      sync.Mutex
	next    uint64
	pending map[uint64]*call
	watch   *call            // the one open subscription; not pending
	ended   *failure.Failure // set once, with nothing pending any more

	late, refused atomic.Int64
}

func newSession(out sender, log *slog.Logger, notify func(string, json.RawMessage)) *session {
	return &session{out: out, log: log, notify: notify, pending: map[uint64]*call{}}
}

// answerWith has the peer's requests answered.
func (s *session) answerWith(answerer Answerer) {
	s.answerer, s.answers = answerer, newAnswers(context.Background(), maxAnswering)
}

// call is one request waiting for its answer.
type call struct {
	outgoing
	id           uint64
	answer       chan answer // capacity 1: whoever removes the call from pending sends once
	progress     func(Progress)
	asked        Answerer // what the peer asks on the request's own stream; nil: as elsewhere
	noted        noter    // likewise what it notifies of; false: as elsewhere
	abort        func()
	acknowledged func(json.RawMessage)
	running      sync.Mutex // held while progress runs
}

type noter = func(method string, params json.RawMessage) bool

// waitProgress waits for a progress callback that is still running.
func (c *call) waitProgress() {
	if c.progress != nil {
		c.running.Lock()
		defer c.running.Unlock()
	}
}

type answer struct {
	result json.RawMessage
	err    *failure.Failure
}

// request says what to send: params are written by write, which appends one
// JSON object to b.
type request struct {
	method   string
	write    func(b []byte, id uint64) []byte
	size     int // estimate of the parameters in bytes
	progress func(Progress)
	asked    Answerer
	noted    noter
	// opening is the protocol version that a request of the handshake offers; ""
	// for all others.
	opening string
	// name is what the request is for, a tool for instance, and args are the
	// arguments of a tools/call: HTTP repeats them in headers.
	name string
	args json.RawMessage
	// acknowledged marks a subscription: its answer is its end, which may never
	// come, so it is none of the open requests. It takes the parameters of the
	// server's acknowledgement, on the goroutine that reads.
	acknowledged func(params json.RawMessage)
	// uncancelable requests are forgotten without a word to the peer: MCP forbids
	// cancelling initialize.
	uncancelable bool
}

// do sends a request and waits for its answer, for ctx or for the session's
// end. After it returns progress is not called any more.
func (s *session) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	c, f := s.begin(ctx, r, nil)
	if f != nil {
		return nil, f
	}
	// An error here means that the session is ending; its end answers the call.
	_ = s.out.enqueue(&c.outgoing)
	return s.await(ctx, r, c)
}

// await waits for the answer to a request that was sent.
func (s *session) await(ctx context.Context, r request, c *call) (json.RawMessage, *failure.Failure) {
	defer c.waitProgress()
	select {
	case a := <-c.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	if s.remove(c.id) == nil {
		a := <-c.answer // it came at the same moment
		return a.result, a.err
	}
	if s.out.withdraw(&c.outgoing) {
		return nil, contextFailure(ctx, failure.NotSent, r.method)
	}
	if !r.uncancelable {
		s.sendCancel(c.id)
	}
	return nil, contextFailure(ctx, failure.DeliveryUnknown, r.method)
}

// begin files a request among the open ones and writes its message, which is not
// sent yet. abort, if any, is called when the session ends before the answer.
func (s *session) begin(ctx context.Context, r request, abort func()) (*call, *failure.Failure) {
	if ctx.Err() != nil {
		return nil, contextFailure(ctx, failure.NotSent, r.method)
	}
	c := &call{answer: make(chan answer, 1), progress: r.progress, asked: r.asked, noted: r.noted, abort: abort, acknowledged: r.acknowledged}
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return nil, endedFailure(s.ended, failure.NotSent)
	}
	s.next++
	c.id = s.next
	if c.acknowledged != nil {
		s.watch = c
	} else {
		s.pending[c.id] = c
	}
	s.mu.Unlock()

	b := make([]byte, 0, 96+len(r.method)+r.size)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendUint(b, c.id, 10)
	b = append(b, `,"method":`...)
	b = appendString(b, r.method)
	b = append(b, `,"params":`...)
	b = r.write(b, c.id)
	c.message = append(b, '}', '\n')
	return c, nil
}

// notification sends a notification; params is a JSON object or nil.
func (s *session) notification(method string, params json.RawMessage) {
	b := append([]byte(`{"jsonrpc":"2.0","method":`), strconv.Quote(method)...)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	s.reply(append(b, '}', '\n'))
}

func (s *session) sendCancel(id uint64) {
	s.notification("notifications/cancelled",
		json.RawMessage(`{"requestId":`+strconv.FormatUint(id, 10)+`,"reason":"`+cancelReason+`"}`))
}

// reply sends what nobody waits for.
func (s *session) reply(message []byte) {
	if err := s.out.enqueue(&outgoing{message: message, reply: true}); err != nil {
		s.log.Debug("dropped a message to the server", "reason", err)
	}
}

func (s *session) remove(id uint64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.watch; c != nil && c.id == id {
		s.watch = nil
		return c
	}
	c := s.pending[id]
	delete(s.pending, id)
	return c
}

// end fails every open request, and every later one, with why. Only the first
// end counts.
func (s *session) end(why *failure.Failure) {
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return
	}
	s.ended = why
	open := s.pending
	if s.watch != nil {
		open[s.watch.id] = s.watch
	}
	s.pending, s.watch = nil, nil
	s.mu.Unlock()
	if s.answers != nil {
		s.answers.end()
	}
	for _, c := range open {
		delivery := failure.DeliveryUnknown
		if s.out.withdraw(&c.outgoing) {
			delivery = failure.NotSent
		}
		c.answer <- answer{err: endedFailure(why, delivery)}
		if c.abort != nil {
			c.abort()
		}
	}
}

// message implements receiver.
func (s *session) message(e envelope) { s.receive(e, nil) }

// receive takes one message. of is the one request that its stream belongs to;
// nil when it belongs to all.
func (s *session) receive(e envelope, of *call) {
	switch {
	case e.repeated != "":
		s.log.Warn("refused a message of the server with a repeated member", "member", e.repeated)
		if e.method != nil && e.id != nil {
			s.replyError(e.id, codeInvalidRequest, "Invalid Request: repeated member")
		} else if id, ok := parseID(e.id); ok {
			s.answer(id, nil, invalidAnswer("the server's answer has the member %q twice", e.repeated))
		}
	case e.method != nil && e.result == nil && e.err == nil:
		s.fromPeer(e, of)
	case e.id == nil || isNull(e.id):
		s.withoutID(e, of)
	default:
		id, ok := parseID(e.id)
		if !ok {
			s.late.Add(1)
			s.log.Debug("dropped an answer of the server to a request that was never made", "id", quote(e.id))
			return
		}
		result, f := outcome(e)
		s.answer(id, result, f)
	}
}

// outcome reads an answer by JSON-RPC 2.0 section 5, except that "error": null
// beside a result is no error: it is common.
func outcome(e envelope) (json.RawMessage, *failure.Failure) {
	hasResult := e.result != nil && !isNull(e.result)
	hasError := e.err != nil && !isNull(e.err)
	switch {
	case hasResult && hasError:
		return nil, invalidAnswer("the server's answer has both a result and an error")
	case hasError:
		return nil, rpcFailure(e.err)
	case e.result == nil:
		return nil, invalidAnswer("the server's answer has neither a result nor an error")
	case !isObject(e.result):
		return nil, invalidAnswer("the server's result is no JSON object: %s", quote(e.result))
	}
	return json.RawMessage(e.result), nil
}

func (s *session) answer(id uint64, result json.RawMessage, f *failure.Failure) {
	c := s.remove(id)
	if c == nil {
		s.late.Add(1)
		return
	}
	c.answer <- answer{result: result, err: f}
}

// withoutID handles an answer whose id is missing or null. Peers send that when
// they could not read a request; with one request open, it is that one.
func (s *session) withoutID(e envelope, only *call) {
	if only == nil {
		s.mu.Lock()
		if len(s.pending) == 1 {
			for _, c := range s.pending {
				only = c
			}
		}
		s.mu.Unlock()
	}
	if only != nil && isObject(e.err) {
		s.answer(only.id, nil, rpcFailure(e.err))
		return
	}
	s.log.Warn("dropped an answer of the server without an id", "error", quote(e.err))
}

// broken implements receiver: the request it answers fails. One over the limit
// must answer something; when its id cannot be found that is the oldest request.
func (s *session) broken(head, tail []byte, why string, oversized bool) {
	id, ok := idOfBroken(head, tail)
	if !ok && oversized {
		s.mu.Lock()
		for k := range s.pending {
			if id == 0 || k < id {
				id = k
			}
		}
		s.mu.Unlock()
	}
	if id != 0 {
		s.answer(id, nil, invalidAnswer("%s", why))
	}
}
