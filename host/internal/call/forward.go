package call

import (
	"context"
	"encoding/json"
	"time"

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
}

// Forward passes a request on to the upstream of a server, starting it if need be,
// under the limits of a call, and returns the MCP result object byte for byte: one
// of 2026-07-28 may be input_required. It is made a second time only where the
// first certainly was not sent. The error is always a *Failure without a tool;
// its class is not-found when the server does not offer the method.
func (p *Pipeline) Forward(ctx context.Context, req ForwardRequest) (json.RawMessage, error) {
	begun := time.Now()
	attempts := 0
	raw, fail := p.forward(ctx, &req, &attempts)
	if fail != nil {
		fail.Server, fail.Attempts, fail.Duration = req.Server, attempts, time.Since(begun)
		return nil, fail
	}
	return raw, nil
}

func (p *Pipeline) forward(ctx context.Context, req *ForwardRequest, attempts *int) (json.RawMessage, *Failure) {
	if f := notObject("params", req.Params); f != nil {
		return nil, f
	}
	s, err := p.Server(req.Server)
	if err != nil {
		return nil, wrap(err)
	}
	set := s.Settings()
	limits := limitsOf(s, set, req.Timeout)
	begun := time.Now()
	for {
		*attempts++
		var raw json.RawMessage
		fail := use(ctx, s, limits, limits.MaxTimeout-time.Since(begun), func(dl *deadline) (err error) {
			raw, err = s.Forward(dl.ctx, &server.Passage{
				Method: req.Method, Params: req.Params, ID: newID(),
				OnProgress: dl.reporting(req.OnProgress), OnLog: req.OnLog, Ask: dl.asking(req.Ask),
			})
			return err
		})
		if fail == nil {
			return raw, nil
		}
		if fail.Delivery != failure.NotSent {
			return nil, fail
		}
		wait, again := again(*attempts, fail, Retry(set.Retry), false, limits.MaxTimeout-time.Since(begun))
		if !again || !pause(ctx, wait) {
			return nil, fail
		}
		p.Log.Warn("retry", "server", req.Server, "method", req.Method, "delayMs", wait.Milliseconds(), "errorClass", fail.Class.String())
	}
}
