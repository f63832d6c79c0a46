package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// reply is the response to one request over HTTP: JSON, unless something comes
// before the answer or the answer takes its time; then an event stream.
type reply struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	cancel context.CancelFunc // of a request that ends with its client; nil for others
	json   bool               // the client accepts it
	events bool
	// resume makes the stream one that a client can come back to; nil where there is
	// none.
	resume func() *stream

	mu      sync.Mutex
	over    bool // answered
	stream  *stream
	out     *writer
	running sync.WaitGroup
	timer   *time.Timer
}

// wait makes the response a stream if there is no answer after d.
func (a *reply) wait(d time.Duration) {
	if a.events {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timer = time.AfterFunc(d, func() { a.begin() })
	}
}

// begin makes the response a stream, unless it is one or is over.
func (a *reply) begin() *stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream != nil || a.over {
		return a.stream
	}
	if a.resume != nil {
		a.stream = a.resume()
	} else {
		a.stream = &stream{}
	}
	t, cancel := a.stream, a.cancel
	a.out = newWriter(steadyWriter{w: a.w, rc: http.NewResponseController(a.w), stream: true}, func(error) {
		t.fail()
		if cancel != nil {
			cancel()
		}
	})
	a.stream.attach(a.out, 0)
	a.running.Go(func() {
		startEvents(a.w)
		a.s.run(a.out, a.r.Context().Done())
		a.stream.detach(a.out)
	})
	return a.stream
}

// resumable is the stream to which a client that lost the connection can come back;
// nil for none.
func (a *reply) resumable() *stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.resume == nil {
		return nil
	}
	return a.stream
}

// tell sends what may be lost ahead of the answer.
func (a *reply) tell(message []byte) {
	if t := a.begin(); t != nil {
		t.tell(message)
	}
}

// say sends what is waited for ahead of the answer.
func (a *reply) say(message []byte) {
	if t := a.begin(); t != nil {
		t.say(message)
	}
}

// answer ends the response with the answer to d.
func (a *reply) answer(d *demand, result json.RawMessage, err error) {
	message, code := a.s.answerTo(d, result, err)
	status := http.StatusOK
	if d.caller.Modern {
		status = statusOf(code)
	}
	a.end(status, message)
}

// fail refuses a request.
func (a *reply) fail(id []byte, err error) {
	code, message, data := wireError(err)
	status := statusOf(code)
	if status == http.StatusOK {
		status = http.StatusBadRequest
	}
	a.json = true
	a.end(status, errorResponse(id, code, message, data))
}

// statusOf is the status of a response that is not streamed (2026-07-28, Streamable
// HTTP, and the errors' own descriptions).
func statusOf(code int) int {
	switch code {
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeInvalidParams, codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// end sends the last message, nil for none, and waits until the response is written
// or its client gone.
func (a *reply) end(status int, message []byte) {
	a.mu.Lock()
	if a.timer != nil {
		a.timer.Stop()
	}
	t := a.stream
	a.over = true
	a.mu.Unlock()
	switch {
	case t != nil:
		t.end(message)
		a.running.Wait()
	case !a.json && status == http.StatusOK || message == nil:
		w := startEvents(a.w)
		if message != nil {
			_, _ = w.Write(eventOf(message)) // a client that is gone has its own word for it
		}
		_ = w.Close()
	default:
		a.write(status, message)
	}
}

// write answers with JSON.
func (a *reply) write(status int, message []byte) {
	h := a.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(message))}
	a.w.WriteHeader(status)
	w := steadyWriter{w: a.w, rc: http.NewResponseController(a.w)}
	_, _ = w.Write(message)
	_ = w.Close()
}
