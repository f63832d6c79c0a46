package call

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Keeper keeps results that are over budget; a *results.Store is one.
type Keeper interface {
	Put(ctx context.Context, owner, tool string, raw []byte) (handle string, err error)
}

// bytesPerToken is what a token of JSON and English has, roughly.
const bytesPerToken = 4

// fitBudget puts a short answer in the place of a result that is larger than
// response_budget, and keeps the result. Only models have a budget: a script, the
// CLI and a program get what there is. The tool has run by then, so that this is no
// failure: nothing must make a model repeat the call.
func (p *Pipeline) fitBudget(ctx context.Context, w *work) *Failure {
	if w.req.Caller != exposure.Model || p.Budget == nil || w.answer.Input != nil {
		return nil
	}
	budget := p.Budget()
	if int64(len(w.answer.JSON)) <= budget {
		return nil
	}
	over := overBudget{tool: w.req.Tool, result: w.answer.JSON, failed: w.answer.IsError, budget: budget}
	if p.Results != nil {
		var err error
		if over.handle, err = p.Results.Put(ctx, cmp.Or(w.req.Owner, results.Local), w.req.Tool, w.answer.JSON); err != nil {
			p.Log.Error("an over-budget result is lost", "server", w.tool.Server, "tool", w.tool.Name, "bytes", len(w.answer.JSON), "error", err)
		}
	}
	out := w.tool.Output()
	over.structured = w.req.Via == exposure.ByBridge || out == nil || len(out.Validate(envelope(over.object()))) == 0
	w.answer = &server.Answer{JSON: over.answer(), IsError: true}
	return nil
}

// overBudget is what a model is told instead of a result.
type overBudget struct {
	tool       string
	result     []byte
	failed     bool // the tool said that it failed
	budget     int64
	handle     string // empty: the result could not be kept
	structured bool
}

// maxExcerpt bounds the beginning of the result's text that a model is shown, in
// bytes.
const maxExcerpt = 2 << 10

// worstEscape is how much longer a byte can become in a JSON string.
const worstEscape = 6

// answer is the MCP result, within the budget where names are not absurdly long.
func (o *overBudget) answer() json.RawMessage {
	object := o.object()
	bare := toolError(o.text(""), object, o.structured)
	room := (o.budget - int64(len(bare)) - int64(worstEscape*len(itBegins))) / worstEscape
	if head := results.Head(o.result, int(min(maxExcerpt, room))); head != "" {
		return toolError(o.text(head), object, o.structured)
	}
	return bare
}

// object is {code, tool, bytes, budget, estimatedTokens, advice, handle}, the last
// only when the result was kept.
func (o *overBudget) object() []byte {
	var e rawjson.Object
	e.String("code", failure.OverBudget.String())
	e.String("tool", o.tool)
	return o.describe(&e)
}

// describe adds what is the same for all that can be too large.
func (o *overBudget) describe(e *rawjson.Object) []byte {
	e.Int("bytes", int64(len(o.result)))
	e.Int("budget", o.budget)
	e.Int("estimatedTokens", int64(len(o.result))/bytesPerToken)
	if o.handle == "" {
		e.String("advice", "do not repeat this call; ask the tool for less, if it can filter, page or limit")
		return e.Bytes()
	}
	e.String("advice", "do not repeat this call; read the result with result_read")
	e.String("handle", o.handle)
	return e.Bytes()
}

const itBegins = " It begins:\n\n"

func (o *overBudget) text(head string) string {
	text := "The call itself succeeded and must not be repeated."
	if o.failed {
		text = "The tool ran and says that it failed; do not repeat the call just to see why."
	}
	text += fmt.Sprintf(" The result has %d bytes, about %d tokens; the budget is %d bytes.", len(o.result), len(o.result)/bytesPerToken, o.budget)
	if o.handle == "" {
		text += " It could not be kept. Ask for less, if the tool can filter, page or limit."
	} else {
		text += fmt.Sprintf(` It was kept: result_read {"handle":"%s"} reads it in parts, by "lines":"1-100", "offset" and "limit", or "path" (GJSON).`, o.handle)
	}
	if head != "" {
		text += itBegins + head
	}
	return text
}
