package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// Script is a script that a client wants to have run, and on whose behalf.
type Script struct {
	Source  string
	Timeout time.Duration // 0: the configuration's
	Tokens  int           // the most that is told of what it puts out; 0: the configuration's
	Store   *codemode.Store

	Arguments json.RawMessage // of the tool, as they came, for the record

	Owner, Session string
	// Server and Tool say whether it may know of a server, and of a tool that is not
	// hidden. Nil: of all.
	Server func(server string) bool
	Tool   func(server, tool string) bool

	// What the calls of the script have of the client's request, as call.Request.
	Meta  json.RawMessage
	Ask   call.Asker
	OnLog call.Logger
	// OnCall is told of each call, OnProgress of what a call says of itself.
	OnCall     func(codemode.CallEvent)
	OnProgress func(tool string, p call.Progress)
}

// codeMode runs scripts, in which every tool is a function. Its description says what
// scripts find there, and names no server and no tool.
var codeMode = bridge{name.CodeMode, `{"name":"codemode","title":"Run a script",` +
	`"description":"Runs a script in which the tools of the connected servers are functions. What flows between its calls stays out of your context: you get only what it puts out. One script does the work of many calls: loop, filter and count in it, and use Promise.all.\n` +
	`code is JavaScript or TypeScript, the body of an async function, with await and return at its top. It has no timers, files, network or imports, but\n` +
	`- tools.<server>.<tool>(args), or tools[\"a-server\"][\"a-tool\"](args): calls a tool. Gives its structured value, else its text, parsed if that is a JSON object or array. Throws ToolError {tool, code, message, details, retryable}. .raw(args) gives the whole MCP result.\n` +
	`- await searchTools(query, {server, limit}): [{name, description}], name being \"server/tool\". await describeTool(name, ...): their TypeScript declarations, to be read before you call. await describeServer(name).\n` +
	`- text(value), image(block): output. The returned value is output, too. console.log: for debugging.\n` +
	`- store(key, value), load(key): values for later scripts. exit(value) ends it.\n` +
	`Integers beyond 2^53 are BigInt.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"code":{"type":"string","description":"The script."},` +
	`"timeout_ms":{"type":"integer","minimum":100,"maximum":600000,"description":"Default 120000."},` +
	`"max_output_tokens":{"type":"integer","minimum":100,"maximum":50000,"description":"Default 10000. Longer output keeps its beginning and end; result_read reads all of it."}},` +
	`"required":["code"],"additionalProperties":false},` +
	`"outputSchema":` + codeModeOutput + `,` +
	`"annotations":{"readOnlyHint":false,"openWorldHint":true},` + always + `}`}

// codeModeOutput is codemode.Outcome.JSON as a schema. It is true of every answer,
// also of those to what is no script: clients hold answers against it.
const codeModeOutput = `{"type":"object","properties":{` +
	`"status":{"enum":["completed","failed"]},` +
	`"value":{"description":"What the script returned."},` +
	`"output":{"type":"array","items":{"type":"object"},"description":"MCP content blocks."},` +
	`"console":{"type":"array","items":{"type":"object","properties":{"level":{"type":"string"},"text":{"type":"string"}},"required":["level","text"]}},` +
	`"console_dropped":{"type":"integer"},` +
	`"error":{"type":"object","properties":{"kind":{"type":"string"},"name":{"type":"string"},"message":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"},"stack":{"type":"string"},"tool":{"type":"string"},"code":{"type":"string"}},"required":["kind","message"]},` +
	`"calls":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"tool":{"type":"string"},"status":{"type":"string"},"duration_ms":{"type":"integer"},"args_bytes":{"type":"integer"},"result_bytes":{"type":"integer"},"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"}},"required":["code","message"]}},"required":["id","tool","status"]}},` +
	`"calls_left_out":{"type":"integer"},` +
	`"truncated":{"type":"object","properties":{"bytes":{"type":"integer"},"resource":{"type":"string","description":"A handle for result_read."},"value":{"type":"boolean"}},"required":["bytes"]},` +
	`"notices":{"type":"array","items":{"type":"string"}},` +
	`"duration_ms":{"type":"integer"},"cpu_ms":{"type":"integer"}},` +
	`"required":["status","output","console","calls"]}`

// What the tool says went wrong before there was a script that could fail; the other
// kinds are package codemode's.
const (
	kindArguments codemode.Kind = "arguments"
	kindBusy      codemode.Kind = "busy"
)

// Bounds of the arguments; the schema says them, too.
const (
	minTimeoutMs, maxTimeoutMs = 100, 600_000
	minTokens, maxTokens       = 100, codemode.MaxTokens
)

// runScript is codemode.
func (f *Front) runScript(ctx context.Context, r *protocol.Incoming, arguments json.RawMessage) (json.RawMessage, error) {
	if gjson.GetBytes(r.Params, "requestState").Exists() {
		return nil, unknownState() // of a script that waited for its client, and is over
	}
	s, fault := scriptOf(arguments)
	if fault != "" {
		return outcomeResult(noScript(kindArguments, fault)), nil
	}
	f.host.PrepareScripts()
	s.Arguments = arguments
	s.Owner, s.Session = f.host.Owner(r.Caller.Principal), r.Caller.Session
	if who, narrowed := r.Caller.Principal.(Principal); narrowed {
		s.Server = who.AllowsServer
		s.Tool = func(server, tool string) bool {
			return who.Exposure(server, tool, exposure.Direct).Searchable(exposure.Model)
		}
	}
	s.Meta, s.Ask, s.OnLog = r.Meta, r.Ask, logger(r)
	if !r.Caller.Modern {
		s.Meta = declaring(r)
	}
	if r.Progress != nil {
		t := newTally(r.Progress)
		defer t.stop()
		s.OnCall, s.OnProgress = t.called, t.progressed
	}
	store, release := f.stored.of(r.Caller, s.Owner, f.host.SameRights)
	defer release()
	s.Store = store
	out, err := f.host.RunScript(ctx, s)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, codemode.ErrBusy):
		out = noScript(kindBusy, err.Error())
	case errors.Is(err, codemode.ErrClosed):
		out = noScript(codemode.KindAborted, err.Error())
	case err != nil:
		out = noScript(codemode.KindSandbox, err.Error())
	}
	return outcomeResult(out), nil
}

// scriptOf reads the arguments. What it does not know is a fault: a limit that is
// spelled otherwise would be none.
func scriptOf(arguments json.RawMessage) (s Script, fault string) {
	known := []string{"code", "timeout_ms", "max_output_tokens"}
	gjson.ParseBytes(arguments).ForEach(func(key, _ gjson.Result) bool {
		if !slices.Contains(known, key.String()) {
			fault = fmt.Sprintf("there is no argument %q; codemode takes code, timeout_ms and max_output_tokens", key.String())
		}
		return fault == ""
	})
	if fault != "" {
		return s, fault
	}
	code := gjson.GetBytes(arguments, "code")
	if code.Type != gjson.String {
		return s, "code is missing: it is the script, as a string"
	}
	s.Source = code.String()
	ms, ok := within(gjson.GetBytes(arguments, "timeout_ms"), minTimeoutMs, maxTimeoutMs)
	if !ok {
		return s, fmt.Sprintf("timeout_ms is a whole number from %d to %d", minTimeoutMs, maxTimeoutMs)
	}
	s.Timeout = time.Duration(ms) * time.Millisecond
	if s.Tokens, ok = within(gjson.GetBytes(arguments, "max_output_tokens"), minTokens, maxTokens); !ok {
		return s, fmt.Sprintf("max_output_tokens is a whole number from %d to %d", minTokens, maxTokens)
	}
	return s, ""
}

// within reads a whole number; 0 when there is none.
func within(v gjson.Result, least, most float64) (n int, ok bool) {
	switch {
	case !v.Exists() || v.Type == gjson.Null:
		return 0, true
	case v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < least || v.Num > most:
		return 0, false
	}
	return int(v.Num), true
}

func noScript(kind codemode.Kind, message string) codemode.Outcome {
	return codemode.Outcome{Status: codemode.Failed, Error: &codemode.Error{Kind: kind, Message: message}}
}

// outcomeResult is an outcome as the result of the tool.
func outcomeResult(o codemode.Outcome) json.RawMessage {
	var out rawjson.Object
	out.Raw("content", rawjson.Array(o.Blocks()))
	if o.Status != codemode.Completed {
		out.Bool("isError", true)
	}
	out.Raw("structuredContent", o.JSON())
	return out.Bytes()
}
