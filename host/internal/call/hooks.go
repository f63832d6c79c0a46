package call

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/hook"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Hooks stand between callers and tools. *hook.Chain is one.
type Hooks interface {
	Before(ctx context.Context, call hook.Call) (hook.Outcome, *failure.Failure)
	After(ctx context.Context, call hook.Call, result json.RawMessage) (hook.Outcome, *failure.Failure)
}

// askHooks shows the call to the hooks before its arguments are validated: what they
// make of them is validated too. A hook may answer in the tool's place.
func (p *Pipeline) askHooks(ctx context.Context, w *work) *Failure {
	if p.Hooks == nil {
		return nil
	}
	out, fail := p.Hooks.Before(ctx, w.shown())
	w.note(out.Notices)
	if fail != nil {
		return &Failure{Failure: *fail}
	}
	if out.Arguments != nil {
		w.req.Arguments, w.event.Arguments = out.Arguments, out.Arguments
	}
	if out.Result != nil {
		w.answered = true
		w.give(out.Result)
	}
	return nil
}

// showHooks shows the result to the hooks before it is validated. A question of the
// tool is no result.
func (p *Pipeline) showHooks(ctx context.Context, w *work) *Failure {
	if p.Hooks == nil || w.answer.Input != nil {
		return nil
	}
	out, fail := p.Hooks.After(ctx, w.shown(), w.answer.JSON)
	w.note(out.Notices)
	switch {
	case fail != nil:
		return &Failure{Failure: *fail}
	case out.Result != nil && w.req.MaxResult > 0 && len(out.Result) > w.req.MaxResult:
		f := refused(failure.OverBudget, "the result is over the limit of %d bytes; the call itself succeeded", w.req.MaxResult)
		f.Delivery = failure.Answered
		return f
	case out.Result != nil:
		w.give(out.Result)
	}
	return nil
}

// note tells of a hook that was not asked, once for the call: before it and after it are
// one thing to a person.
func (w *work) note(notices []hook.Notice) {
	for _, n := range notices {
		if !slices.Contains(w.unasked, n.Hook) {
			w.unasked, w.notices = append(w.unasked, n.Hook), append(w.notices, n.Text)
		}
	}
}

// give puts a hook's result in the place of the tool's.
func (w *work) give(result json.RawMessage) {
	w.answer = &server.Answer{JSON: result, IsError: gjson.GetBytes(result, "isError").Type == gjson.True}
	w.event.IsError, w.event.ResultBytes = w.answer.IsError, len(result)
}

// shown is the call as hooks see it.
func (w *work) shown() hook.Call {
	return hook.Call{ID: w.event.ID, Server: w.tool.Server, Tool: w.tool.Name, Caller: string(w.req.Caller), Arguments: w.req.Arguments}
}
