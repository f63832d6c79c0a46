package host

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/codemode"
	front "github.com/collet-dev/collet/host/internal/front/mcp"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// limitsOf fills what a request leaves open with what [host.codemode] says.
func (h *Host) limitsOf(l ScriptLimits) ScriptLimits {
	c := h.hub.Config().Host.Codemode
	return ScriptLimits{
		Timeout:  cmp.Or(l.Timeout, c.Timeout),
		CPU:      cmp.Or(l.CPU, c.CPU),
		Heap:     cmp.Or(l.Heap, c.Heap),
		Calls:    cmp.Or(l.Calls, c.Calls),
		InFlight: cmp.Or(l.InFlight, c.InFlight),
	}
}

// bytesPerToken is how codemode.Outcome.Fit counts.
const bytesPerToken = 4

// RunScript implements front.Host. A model may ask for more than is usual, and for no
// more than the configuration allows.
func (v view) RunScript(ctx context.Context, s front.Script) (codemode.Outcome, error) {
	h := v.host
	c := h.hub.Config().Host
	req := ScriptRequest{
		Source: s.Source, Store: s.Store, Owner: s.Owner, Session: s.Session,
		Limits: ScriptLimits{Timeout: min(cmp.Or(s.Timeout, c.Codemode.Timeout), c.Codemode.MaxTimeout)},
		OnCall: s.OnCall, OnProgress: s.OnProgress, OnLog: s.OnLog, Ask: s.Ask, Meta: s.Meta,
		AllowServer: s.Server, startWait: max(c.ConnectWait, 1), // no time is one that is over
	}
	if s.Tool != nil {
		req.Allow = func(canonical string) bool {
			server, tool, _ := name.Split(canonical)
			return s.Tool(server, tool)
		}
	}
	// The calls of a script are recorded as parts of this one.
	event := call.Event{Tool: name.CodeMode, Caller: Model, Owner: s.Owner, Session: s.Session, Arguments: s.Arguments}
	var out ScriptOutcome
	var err error
	h.calls.Around(ctx, &event, s.Meta, func(ctx context.Context) {
		req.ID = event.ID
		out, err = h.Run(ctx, req)
		event.IsError = err != nil || out.Status != codemode.Completed
	})
	if err != nil {
		return out, err
	}
	tokens := min(cmp.Or(s.Tokens, c.Codemode.OutputTokens), c.Codemode.MaxOutputTokens, int(c.ResponseBudget/bytesPerToken))
	whole := out
	out.Fit(tokens, func(full []byte) (string, error) {
		return h.results.Put(ctx, s.Owner, name.CodeMode, kept(&whole, full))
	})
	return out, nil
}

// kept is an outcome as result_read reads it: its text, and all of it as JSON.
func kept(whole *codemode.Outcome, full []byte) json.RawMessage {
	var text, o rawjson.Object
	text.String("type", "text")
	text.String("text", string(full))
	o.Raw("content", rawjson.Array([][]byte{text.Bytes()}))
	o.Raw("structuredContent", whole.JSON())
	return o.Bytes()
}

// prepareWait is how long a process for scripts may take to be ready. Without one a
// script starts its own.
const prepareWait = 30 * time.Second

// PrepareScripts implements front.Host.
func (v view) PrepareScripts() {
	v.preparing.Do(func() {
		v.work.Go(func() {
			ctx, cancel := context.WithTimeout(v.ctx, prepareWait)
			defer cancel()
			if err := v.host.PrepareScripts(ctx); err != nil && v.ctx.Err() == nil {
				v.host.opt.Log.Warn("no process is kept ready for scripts", "error", err)
			}
		})
	})
}
