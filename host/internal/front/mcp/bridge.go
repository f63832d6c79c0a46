package mcp

import (
	"context"
	"encoding/json"

	protocol "github.com/collet-dev/collet/sdk/mcp"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// bridge is one of the host's own tools, through which a model reaches the tools
// that are not in its list. Their names are reserved and their definitions are
// constants: they name no server and no tool, so that a prompt cache survives
// whatever the servers do.
type bridge struct {
	name       string
	definition string
}

// callBridge answers a call of the bridge tool of that name.
func (f *Front) callBridge(ctx context.Context, name string, r *protocol.Incoming, arguments json.RawMessage) (json.RawMessage, error) {
	switch name {
	case toolSearch.name:
		return f.search(ctx, r, arguments)
	case toolCall.name:
		return f.callByBridge(ctx, r, arguments)
	case codeMode.name:
		return f.runScript(ctx, r, arguments)
	}
	return f.readResult(ctx, r, arguments)
}

// always asks clients that load tools on demand by themselves to keep a bridge
// tool in sight: without it nothing leads to the others.
const always = `"_meta":{"anthropic/alwaysLoad":true}`

var toolSearch = bridge{"tool_search", `{"name":"tool_search","title":"Search tools",` +
	`"description":"Finds tools of the connected servers by what they do, or by name. Only a few tools are in the list; search before you conclude that something cannot be done. Each tool comes with its name, what it does and its input schema; one that only scripts can call with its TypeScript declaration instead. exposure says how to call it: direct by its wireName, deferred with tool_call, codemode from a script with codemode.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"query":{"type":"string","description":"What the tool should do, in a few words; or names of tools, with commas between."},` +
	`"server":{"type":"string","description":"Only tools of this server."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"The most tools to return; default 5."}},` +
	`"required":["query"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"openWorldHint":false},` + always + `}`}

var toolCall = bridge{"tool_call", `{"name":"tool_call","title":"Call a tool",` +
	`"description":"Calls a tool that tool_search has found, with arguments by its input schema.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The tool's name or wireName."},` +
	`"arguments":{"type":"object","description":"The tool's arguments."}},` +
	`"required":["name"],"additionalProperties":false},` + always + `}`}

// offered are the bridge tools that the configuration calls for. It looks at
// rules more than at tools: a server that is still starting must not change the list.
func offered(servers []Server) []bridge {
	var search, call, script bool
	for _, s := range servers {
		exposures := []exposure.Exposure{s.Rules.Default}
		if s.Rules.Default == "" {
			exposures[0] = exposure.Default
		}
		for _, p := range s.Rules.Tools {
			exposures = append(exposures, p.Exposure)
		}
		for _, e := range exposures {
			search = search || e == exposure.Deferred || e == exposure.Codemode
			call = call || e == exposure.Deferred
			script = script || e == exposure.Codemode && !s.known()
		}
		// A credential may see less of a tool than the rules say.
		for _, t := range s.Tools {
			search = search || t.Exposure != exposure.Direct
			call = call || t.Exposure == exposure.Deferred
			script = script || t.Exposure == exposure.Codemode
		}
	}
	var tools []bridge
	if search {
		tools = append(tools, toolSearch)
	}
	if call {
		tools = append(tools, toolCall)
	}
	if script {
		tools = append(tools, codeMode)
	}
	if len(servers) > 0 {
		tools = append(tools, resultRead)
	}
	return tools
}

// known says whether the server's tools are: as it told them now, or last.
func (s *Server) known() bool { return s.Asked || len(s.Tools) > 0 }
