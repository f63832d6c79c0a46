package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// callTool answers tools/call: a bridge tool, or a tool by its wire name.
func (f *Front) callTool(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	wire := gjson.GetBytes(r.Params, "name").String()
	arguments := raw(gjson.GetBytes(r.Params, "arguments"))
	seen := f.outlook(r.Caller)
	for _, b := range seen.bridges {
		if b.name == wire {
			return f.callBridge(ctx, b.name, r, arguments)
		}
	}
	tool, ok := seen.tools[wire]
	if !ok {
		f.settled(ctx, r.Caller) // it may be of a server that is still starting
		seen = f.outlook(r.Caller)
		if tool, ok = seen.tool(wire); !ok {
			return nil, seen.unknownTool(wire)
		}
	}
	return f.call(ctx, r, tool, arguments, exposure.ByName)
}

// callByBridge is tool_call.
func (f *Front) callByBridge(ctx context.Context, r *protocol.Incoming, arguments json.RawMessage) (json.RawMessage, error) {
	wanted, inner := gjson.GetBytes(arguments, "name"), gjson.GetBytes(arguments, "arguments")
	if wanted.Type != gjson.String {
		return toolError("tool_call", "invalid-arguments", "name is missing: it is the name of the tool to call, as tool_search gives it"), nil
	}
	if inner.Exists() && !inner.IsObject() {
		return toolError("tool_call", "invalid-arguments", "arguments must be an object"), nil
	}
	seen := f.outlook(r.Caller)
	tool, ok := seen.tools[wanted.String()] // by either name: a model may have read it
	if !ok {
		f.settled(ctx, r.Caller) // it may be of a server that is still starting
		seen = f.outlook(r.Caller)
		tool, ok = seen.tool(wanted.String())
	}
	if !ok {
		return toolError(wanted.String(), "not-found", seen.noTool(wanted.String())), nil
	}
	return f.call(ctx, r, tool, raw(inner), exposure.ByBridge)
}

// call makes a call through the pipeline. What this client may not call is refused
// before: the pipeline knows the configuration's exposure, not its principal's.
func (f *Front) call(ctx context.Context, r *protocol.Incoming, t Tool, arguments json.RawMessage, via exposure.Via) (json.RawMessage, error) {
	canonical := t.FullName()
	if ok, reason := t.Exposure.Callable(exposure.Model, via); !ok {
		return toolError(canonical, "not-found", canonical+" "+reason), nil
	}
	state, err := f.upstreamState(r, canonical)
	if err != nil {
		return nil, err
	}
	req := call.Request{
		Tool: canonical, Arguments: arguments, Caller: exposure.Model, Via: via,
		Owner: f.host.Owner(r.Caller.Principal), Session: r.Caller.Session,
		Meta: r.Meta, Ask: r.Ask, AcceptInput: r.Caller.Modern,
		InputResponses: raw(gjson.GetBytes(r.Params, "inputResponses")), RequestState: state,
		OnProgress: progress(r), OnLog: logger(r),
	}
	if !r.Caller.Modern {
		req.Meta = declaring(r)
	}
	res, err := f.host.Call(ctx, req)
	var fail *call.Failure
	switch {
	case errors.As(err, &fail) && forClient(r, fail):
		return nil, &fail.Failure
	case errors.As(err, &fail):
		// A tool that is in the list may be there with an outputSchema.
		return fail.Answer(via == exposure.ByBridge || t.Output() == nil), nil
	case err != nil:
		return nil, err
	case res.Input != nil:
		return inputRequired(res.Input.Requests, f.passedOn(r, canonical, res.Input.State)), nil
	}
	if r.Caller.Version < firstStructured {
		return call.WithText(res.JSON, maxSummary), nil
	}
	return res.JSON, nil
}

const (
	// firstStructured is the first version of MCP with structuredContent.
	firstStructured = "2025-06-18"
	// maxSummary bounds the text that older clients get in its place, in bytes.
	maxSummary = 16 << 10
)

// progress passes progress on to the client, nil when it wants none.
func progress(r *protocol.Incoming) func(call.Progress) {
	if r.Progress == nil {
		return nil
	}
	return func(p call.Progress) {
		params := fmt.Appendf(nil, `{"progress":%v`, p.Done)
		if p.Total > 0 {
			params = fmt.Appendf(params, `,"total":%v`, p.Total)
		}
		if p.Message != "" {
			params = rawjson.AppendString(append(params, `,"message":`...), p.Message)
		}
		r.Progress(append(params, '}'))
	}
}

// logger passes log records on to the client, nil when it wants none.
func logger(r *protocol.Incoming) call.Logger {
	if r.Log == nil {
		return nil
	}
	return func(level, logger string, data json.RawMessage) {
		var o rawjson.Object
		o.String("level", level)
		if logger != "" {
			o.String("logger", logger)
		}
		o.Raw("data", data)
		r.Log(o.Bytes())
	}
}

// forClient says whether a server's JSON-RPC error is for the client to act on, and
// not for the model to read: one that the protocol itself defines, of its era, or
// one to answers of a question, which the model knows nothing of.
func forClient(r *protocol.Incoming, fail *call.Failure) bool {
	const urlElicitationRequired = -32042 // 2025-11-25, client/elicitation
	code := fail.UpstreamCode
	if !r.Caller.Modern {
		return code == urlElicitationRequired
	}
	return -32099 <= code && code <= -32020 || code < 0 && gjson.GetBytes(r.Params, "requestState").Exists()
}

// inputRequired is the result of a call that needs something first (2026-07-28,
// MRTR).
func inputRequired(requests json.RawMessage, state string) json.RawMessage {
	var o rawjson.Object
	o.String("resultType", "input_required")
	if requests != nil {
		o.Raw("inputRequests", requests)
	}
	o.String("requestState", state)
	return o.Bytes()
}

// ofScripts are functions of scripts, which models take for tools now and then.
var ofScripts = []string{"call", "describeServer", "describeTool", "exit", "image", "load", "searchTools", "store", "text"}

// unknownTool is the error of a name that no tool has: MCP wants -32602
// (2025-11-25 server/tools, Error Handling).
func (o *outlook) unknownTool(wanted string) error {
	hint := suggest(o.servers, wanted)
	if slices.Contains(ofScripts, wanted) && slices.ContainsFunc(o.bridges, func(b bridge) bool { return b.name == name.CodeMode }) {
		hint = "; it is a function of scripts: use it in the code of " + name.CodeMode
	}
	return invalidParams("Unknown tool: " + wanted + hint)
}

// noTool says that nothing that tool_call could call has a name. The host's own tools
// are called by themselves.
func (o *outlook) noTool(wanted string) string {
	if slices.ContainsFunc(o.bridges, func(b bridge) bool { return b.name == wanted }) {
		return wanted + " is in the list of tools: call it by itself, not with tool_call"
	}
	message := "no tool is called " + wanted
	if near := suggest(o.servers, wanted); near != "" {
		return message + near + " tool_search finds others"
	}
	return message + "; use tool_search to find its name"
}

// maxNear bounds how many similar names an error offers.
const maxNear = 3

func suggest(servers []Server, wanted string) string {
	var names []string
	for _, s := range servers {
		for _, t := range s.Tools {
			if strings.Contains(wanted, "/") {
				names = append(names, t.FullName())
			} else if t.Wire != "" {
				names = append(names, t.Wire)
			}
		}
	}
	if near := name.Near(wanted, names, maxNear); len(near) > 0 {
		return "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}

// raw is the text of a JSON value, nil when it does not exist.
func raw(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}
