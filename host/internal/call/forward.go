package call

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// ForwardRequest is one MCP request that the host does not interpret: resources/*,
// prompts/*, completion/complete.
type ForwardRequest struct {
	Server string          // the server's name
	Method string          // "resources/read"
	Params json.RawMessage // the MCP params object, passed on as it is, _meta included; nil is none
	// Timeout, OnProgress, OnLog and Ask are as those of a Request.
	Timeout    time.Duration
	OnProgress func(Progress)
	OnLog      Logger
	Ask        Asker
	// Caller, Owner, Parent and Session say on whose behalf, as in a Request. A model
	// has a budget for what it reads.
	Caller                 exposure.Caller
	Owner, Parent, Session string
}

// Forward passes a request on to the upstream of a server, starting it if need be,
// under the limits of a call, and returns the MCP result object byte for byte: one
// of 2026-07-28 may be input_required. It is made a second time only where the
// first certainly was not sent. The error is always a *Failure without a tool;
// its class is not-found when the server does not offer the method.
func (p *Pipeline) Forward(ctx context.Context, req ForwardRequest) (json.RawMessage, error) {
	ev := &Event{
		ID: newID(), Parent: req.Parent, Method: req.Method, Server: req.Server,
		Caller: cmp.Or(req.Caller, exposure.Program), Owner: cmp.Or(req.Owner, results.Local), Session: req.Session, Arguments: req.Params,
	}
	begun := time.Now()
	ctx = p.begin(ctx, ev, metaOf(p, req.Params))
	raw, fail := p.forward(ctx, &req, ev)
	ev.Duration = time.Since(begun)
	if fail != nil {
		fail.Server, fail.Attempts, fail.Duration = req.Server, ev.Attempts, ev.Duration
	}
	p.end(ctx, ev, fail)
	if fail == nil {
		fail = p.fitForwarded(ctx, &req, raw)
	}
	if fail != nil {
		return nil, fail
	}
	return raw, nil
}

func (p *Pipeline) forward(ctx context.Context, req *ForwardRequest, ev *Event) (json.RawMessage, *Failure) {
	if f := notObject("params", req.Params); f != nil {
		return nil, f
	}
	s, err := p.Server(req.Server)
	if err != nil {
		return nil, wrap(err)
	}
	ev.Known = true
	set := s.Settings()
	limits := limitsOf(s, set, req.Timeout)
	begun, rested := time.Now(), time.Duration(0)
	left := func() time.Duration { return limits.MaxTimeout - time.Since(begun) + rested }
	for {
		ev.Attempts++
		var raw json.RawMessage
		ctx, params := p.beginForward(ctx, ev, req.Params)
		fail := use(ctx, s, limits, left(), func(dl *deadline) (err error) {
			defer func() { rested += dl.spent() }()
			raw, err = s.Forward(dl.ctx, &server.Passage{
				Method: req.Method, Params: params, ID: ev.ID,
				OnProgress: dl.reporting(req.OnProgress), OnLog: req.OnLog, Ask: dl.asking(req.Ask),
			})
			return err
		})
		p.endAttempt(ctx, false, fail)
		if fail == nil {
			ev.ResultBytes = len(raw)
			return raw, nil
		}
		if fail.Delivery != failure.NotSent {
			return nil, fail
		}
		wait, again := again(ev.Attempts, fail, Retry(set.Retry), false, left())
		if !again || !pause(ctx, wait) {
			return nil, fail
		}
		p.Log.Warn("retry", "server", req.Server, "method", req.Method, "delayMs", wait.Milliseconds(), "errorClass", fail.Class.String())
	}
}
