package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxAnswering bounds the peer's requests that are being answered at a time, so
// that one that floods us with them costs no more than this many goroutines.
// People answer most of them, but a host asks for many callers over one connection.
const maxAnswering = 128

// maxResting bounds the goroutines that wait for the next request to answer. A new
// one would have to grow its stack first, which for a short answer is a good part
// of the work.
const maxResting = 64

// answers are the peer's requests that are being answered. end cancels them;
// running waits for those of start and do once there are no more, after drain or end.
type answers struct {
	base context.Context
	max  int

	running sync.WaitGroup

	mu    sync.Mutex
	ended bool
	open  map[string]*inquiry // by the id's bytes: the peer's ids are its own
	idle  int                 // goroutines that wait for one of next
	next  chan task           // one for each that was idle; closed with ended
}

// task is a request for a goroutine that has answered another.
type task struct {
	q   *inquiry
	run func(*inquiry)
}

func (t task) do() {
	defer t.q.cancel()
	t.run(t.q)
}

// inquiry is one request of the peer. ctx ends when the peer cancels it or the
// connection ends.
type inquiry struct {
	key    string
	ctx    context.Context
	cancel context.CancelFunc
}

func newAnswers(base context.Context, max int) *answers {
	return &answers{base: base, max: max, open: map[string]*inquiry{}}
}

// start runs run on another goroutine, one for each request. What it returns, if anything, is the
// answer to a request that is refused.
func (a *answers) start(id []byte, run func(*inquiry)) (refusal []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, refusal := a.file(id)
	switch t := (task{q, run}); {
	case q == nil:
	case a.idle > 0:
		a.idle--
		a.next <- t
	default:
		a.running.Go(func() { a.serve(t) })
	}
	return refusal
}

// do is start for what takes no time: it runs it on this goroutine.
func (a *answers) do(id []byte, run func(*inquiry)) (refusal []byte) {
	a.mu.Lock()
	q, refusal := a.file(id)
	if q != nil {
		a.running.Add(1)
	}
	a.mu.Unlock()
	if q != nil {
		defer a.running.Done()
		task{q, run}.do()
	}
	return refusal
}

// serve does one task after the other.
func (a *answers) serve(t task) {
	for more := true; more; {
		t.do()
		if !a.rest() {
			return
		}
		t, more = <-a.next
	}
}

// rest counts a goroutine that has nothing to do, if there may be one more.
func (a *answers) rest() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.idle >= maxResting {
		return false
	}
	if a.next == nil {
		a.next = make(chan task, maxResting)
	}
	a.idle++
	return true
}

// begin is start for whoever runs the request himself, which he must not without
// an inquiry, and cancels it in the end.
func (a *answers) begin(id []byte) (q *inquiry, refusal []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file(id)
}

func (a *answers) file(id []byte) (q *inquiry, refusal []byte) {
	switch {
	case a.ended:
		return nil, nil
	case a.open[string(id)] != nil:
		return nil, errorResponse(id, codeInvalidRequest, "Invalid Request: a request with this id is open", nil)
	case len(a.open) >= a.max:
		return nil, errorResponse(id, codeInternalError, "Too many open requests", nil)
	}
	q = &inquiry{key: string(id)}
	q.ctx, q.cancel = context.WithCancel(a.base)
	a.open[q.key] = q
	return q, nil
}

// close says whether a request is still to be answered; MCP forbids answering a
// cancelled one.
func (a *answers) close(q *inquiry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := a.open[q.key] == q
	if open {
		delete(a.open, q.key)
	}
	return open
}

// cancel ends a request the peer has cancelled, and says whether there was one.
func (a *answers) cancel(id []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.open[string(id)]
	if q == nil {
		return false
	}
	q.cancel()
	delete(a.open, q.key)
	return true
}

// drain takes no more requests.
func (a *answers) drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
}

func (a *answers) stop() {
	if !a.ended && a.next != nil {
		close(a.next)
	}
	a.ended = true
}

// end cancels what is open; there is nobody to answer any more.
func (a *answers) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	for _, q := range a.open {
		q.cancel()
	}
	clear(a.open)
}

// response is the answer to a request of the peer; id is echoed as it came.
func response(id []byte, result json.RawMessage, err error) []byte {
	if err == nil {
		if f := checkObject("the result", result); f != nil || result == nil {
			err = errors.New("the answer is no JSON object")
		}
	}
	if err != nil {
		return failedResponse(id, err)
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), oneLine(id)...)
	b = append(b, `,"result":`...)
	b = append(b, oneLine(result)...)
	return append(b, '}', '\n')
}

// failedResponse is the answer to a request that failed with err.
func failedResponse(id []byte, err error) []byte {
	code, message, data := wireError(err)
	return errorResponse(id, code, message, data)
}

// wireError is an error as a stranger may see it.
func wireError(err error) (code int, message string, data json.RawMessage) {
	if e, ok := errors.AsType[*WireError](err); ok {
		return e.Code, e.Message, e.Data
	}
	if f, ok := errors.AsType[*failure.Failure](err); ok && f.UpstreamCode != 0 {
		return f.UpstreamCode, f.Message, f.UpstreamData
	}
	return codeInternalError, "Internal error", nil
}

func errorResponse(id []byte, code int, message string, data json.RawMessage) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), oneLine(id)...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	if data != nil && checkDocument(data) == nil {
		b = append(b, `,"data":`...)
		b = append(b, oneLine(data)...)
	}
	return append(b, '}', '}', '\n')
}
