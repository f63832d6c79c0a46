package call

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/results"
)

// ToolsCall is the Method of the Event of a call.
const ToolsCall = "tools/call"

// Observer follows calls, and requests that Forward passes on, from inside. Its
// methods are called in this order, in the goroutine of the call, and must not
// block: Begin, then Attempt and AttemptDone for each attempt, then End.
type Observer interface {
	// Begin is told what the caller asks for, and the _meta object that came with it,
	// nil for none. What runs from here on has the context it returns.
	Begin(ctx context.Context, e *Event, meta json.RawMessage) context.Context
	// Attempt is told of attempt n, from 1, and returns its context and the _meta
	// object to send in the place of meta.
	Attempt(ctx context.Context, e *Event, n int, meta json.RawMessage) (context.Context, json.RawMessage)
	// AttemptDone gets the context that Attempt returned; failed is nil when there is
	// an answer.
	AttemptDone(ctx context.Context, isError bool, failed *Failure)
	// End gets the context that Begin returned.
	End(ctx context.Context, e *Event, failed *Failure)
}

// begin tells those who want to know that a call begins.
func (p *Pipeline) begin(ctx context.Context, e *Event, meta json.RawMessage) context.Context {
	if p.Started != nil {
		p.Started(*e)
	}
	if p.Observer != nil {
		ctx = p.Observer.Begin(ctx, e, meta)
	}
	return ctx
}

// end tells them that it is over.
func (p *Pipeline) end(ctx context.Context, e *Event, failed *Failure) {
	if failed != nil {
		e.Class, e.Delivery = failed.Class.String(), failed.Delivery.String()
	}
	if p.Observer != nil {
		p.Observer.End(ctx, e, failed)
	}
	if p.Finished != nil {
		p.Finished(*e)
	}
}

// Around has something that the host does itself told and recorded as a call: e says
// whose and of which tool, and gets an ID where it has none. What run does with the
// context it gets belongs to it. It notes in e how it went.
func (p *Pipeline) Around(ctx context.Context, e *Event, meta json.RawMessage, run func(ctx context.Context)) {
	e.ID = cmp.Or(e.ID, newID())
	e.Method, e.Owner, e.Known = ToolsCall, cmp.Or(e.Owner, results.Local), true
	begun := time.Now()
	ctx = p.begin(ctx, e, meta)
	run(ctx)
	e.Duration = time.Since(begun)
	p.end(ctx, e, nil)
}

func (p *Pipeline) beginAttempt(ctx context.Context, e *Event, n int, meta json.RawMessage) (context.Context, json.RawMessage) {
	if p.Observer == nil {
		return ctx, meta
	}
	return p.Observer.Attempt(ctx, e, n, meta)
}

func (p *Pipeline) endAttempt(ctx context.Context, isError bool, failed *Failure) {
	if p.Observer != nil {
		p.Observer.AttemptDone(ctx, isError, failed)
	}
}

// beginForward is beginAttempt for a request whose _meta is in its parameters.
func (p *Pipeline) beginForward(ctx context.Context, e *Event, params json.RawMessage) (context.Context, json.RawMessage) {
	if p.Observer == nil {
		return ctx, params
	}
	ctx, meta := p.Observer.Attempt(ctx, e, e.Attempts, metaOf(p, params))
	if there := gjson.GetBytes(params, "_meta"); there.Exists() && !there.IsObject() {
		return ctx, params // the server says what it thinks of it
	}
	return ctx, rawjson.Set(params, "_meta", meta)
}

// metaOf is the _meta object in the parameters of a request, if anybody wants it.
func metaOf(p *Pipeline, params json.RawMessage) json.RawMessage {
	if p.Observer == nil {
		return nil
	}
	if meta := gjson.GetBytes(params, "_meta"); meta.IsObject() {
		return json.RawMessage(meta.Raw)
	}
	return nil
}
