package adapter

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/typed"
)

// progressInterval spaces progress events of one call: a person cannot read more
// than ten lines a second, and each costs a message.
const progressInterval = 100 * time.Millisecond

// progressBurst is how many events of a call go out before they are spaced: most
// calls have only a few, each of which says something.
const progressBurst = 8

// Call is one call of a tool.
type Call struct {
	Tool string // without the server's prefix
	ID   string // the host's id for this call; put it in log lines
	// Args is a JSON object; never empty.
	Args json.RawMessage
	// Meta is the MCP _meta object to pass on, or empty.
	Meta json.RawMessage
	// InputResponses and RequestState are set when the caller answers a Result
	// with Input: the MCP inputResponses object, and the State of that Input.
	InputResponses json.RawMessage
	RequestState   string

	events *emitter
	env    *Env
}

// Progress reports that done out of total is done, in any unit; total is zero
// when it is unknown. It may be called from any goroutine and at any rate: at
// most ten events a second reach the host, the newest always does before the
// result, a smaller done than before is raised to what was reported, and calls
// after the tool function returned do nothing.
func (c *Call) Progress(done, total float64, message string) { c.events.progress(done, total, message) }

// Log sends a record that belongs to this call to whoever made it. Data is any
// JSON value; anything else is sent as a JSON string. Records of the process go
// to Env.Log instead.
func (c *Call) Log(level slog.Level, logger string, data json.RawMessage) {
	c.events.record(level, logger, data)
}

// Ask asks whoever made the call, in the middle of it: an MCP request of a server
// to its client (elicitation/create, sampling/createMessage, roots/list) and its
// params. It returns the MCP result object; a person's no is one, too. It takes as
// long as a person takes, and ends with ctx and with the call. The error is a
// failure: ConsentRequired when this caller cannot be asked, one with an
// UpstreamCode when the caller's client refused with that JSON-RPC error.
func (c *Call) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.env.ask(ctx, c.ID, method, params)
}

// Request is one forwarded MCP request.
type Request struct {
	Method string // "resources/read"
	ID     string // the host's id for this request
	// Params is the MCP params object, or empty.
	Params json.RawMessage

	events *emitter
	env    *Env
}

// Progress does for a request what Call.Progress does for a call.
func (r *Request) Progress(done, total float64, message string) {
	r.events.progress(done, total, message)
}

// Log does for a request what Call.Log does for a call.
func (r *Request) Log(level slog.Level, logger string, data json.RawMessage) {
	r.events.record(level, logger, data)
}

// Ask does for a request what Call.Ask does for a call.
func (r *Request) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return r.env.ask(ctx, r.ID, method, params)
}

// emitter puts the events of one call on its stream: one at a time, progress
// spaced after the first few and never decreasing, nothing after the terminal event. A nil emitter,
// as of a Call that an author made in a test, drops everything.
type emitter struct {
	// send writes one event, the other argument being nil. A failed send means
	// that the stream is broken, which the call learns from its context.
	send func(*adapterpb.Progress, *adapterpb.LogRecord) error

	mu      sync.Mutex
	over    bool
	done    float64
	sent    int                 // progress events, up to progressBurst
	pending *adapterpb.Progress // waits for timer
	timer   *time.Timer         // runs until the next event may go out; nil when it may now
}

func (e *emitter) progress(done, total float64, message string) {
	if e == nil || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	if !(total > 0) || math.IsInf(total, 0) {
		total = 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	e.done = max(e.done, done)
	p := &adapterpb.Progress{Done: e.done, Total: total, Message: strings.ToValidUTF8(message, "\uFFFD")}
	if e.timer != nil {
		e.pending = p
		return
	}
	e.emit(p)
}

// emit sends p and, after the first ones, closes the gate for one interval. The
// caller holds mu.
func (e *emitter) emit(p *adapterpb.Progress) {
	_ = e.send(p, nil)
	if e.sent < progressBurst {
		e.sent++
		return
	}
	e.timer = time.AfterFunc(progressInterval, e.tick)
}

func (e *emitter) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = nil
	if p := e.pending; p != nil && !e.over {
		e.pending = nil
		e.emit(p)
	}
}

func (e *emitter) record(level slog.Level, logger string, data json.RawMessage) {
	if e == nil {
		return
	}
	if !json.Valid(data) {
		data, _ = typed.Encode(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	_ = e.send(nil, &adapterpb.LogRecord{
		Level: logLevel(level), Logger: strings.ToValidUTF8(logger, "\uFFFD"), Data: data,
	})
}

// finish sends what is pending and closes the emitter for good. When it has
// returned, no other goroutine touches the stream any more.
func (e *emitter) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.timer != nil {
		e.timer.Stop()
	}
	if e.pending != nil {
		_ = e.send(e.pending, nil)
		e.pending = nil
	}
}

func logLevel(l slog.Level) adapterpb.LogRecord_Level {
	switch {
	case l < slog.LevelInfo:
		return adapterpb.LogRecord_LEVEL_DEBUG
	case l < slog.LevelWarn:
		return adapterpb.LogRecord_LEVEL_INFO
	case l < slog.LevelError:
		return adapterpb.LogRecord_LEVEL_WARN
	default:
		return adapterpb.LogRecord_LEVEL_ERROR
	}
}
