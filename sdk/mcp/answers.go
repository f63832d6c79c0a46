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
// People answer most of them: more at once would only wait.
const maxAnswering = 16

// answers are the peer's requests that the caller's Answerer is working on. end
// cancels them; running waits for them.
type answers struct {
	answer Answerer
	reply  func(message []byte)

	running sync.WaitGroup

	mu    sync.Mutex
	ended bool
	open  map[string]context.CancelFunc // by the id's bytes: the peer's ids are its own
}

func newAnswers(answer Answerer, reply func([]byte)) *answers {
	return &answers{answer: answer, reply: reply, open: map[string]context.CancelFunc{}}
}

// begin answers a request in a goroutine, or refuses it at once.
func (a *answers) begin(id []byte, method string, params json.RawMessage) {
	key := string(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
	case a.open[key] != nil:
		a.reply(errorResponse(id, codeInvalidRequest, "Invalid Request: a request with this id is open", nil))
	case len(a.open) >= maxAnswering:
		a.reply(errorResponse(id, codeInternalError, "Too many open requests", nil))
	default:
		ctx, cancel := context.WithCancel(context.Background())
		a.open[key] = cancel
		a.running.Go(func() {
			defer cancel()
			result, err := a.answer(ctx, method, params)
			if a.close(key) {
				a.reply(response(id, result, err))
			}
		})
	}
}

// close says whether a request is still to be answered; MCP forbids answering a
// cancelled one.
func (a *answers) close(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, open := a.open[key]
	delete(a.open, key)
	return open
}

// cancel ends a request the peer has cancelled, and says whether there was one.
func (a *answers) cancel(id []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel, open := a.open[string(id)]
	if open {
		cancel()
		delete(a.open, string(id))
	}
	return open
}

// end cancels what is open; there is nobody to answer any more.
func (a *answers) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, cancel := range a.open {
		cancel()
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
		if f, ok := errors.AsType[*failure.Failure](err); ok && f.UpstreamCode != 0 {
			return errorResponse(id, f.UpstreamCode, f.Message, f.UpstreamData)
		}
		return errorResponse(id, codeInternalError, "Internal error", nil)
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), oneLine(id)...)
	b = append(b, `,"result":`...)
	b = append(b, oneLine(result)...)
	return append(b, '}', '\n')
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
