package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// mcpTools are the tools of the fake upstream.
const mcpTools = `{"tools":[
{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},
{"name":"echo","description":"Says what it was told.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
{"name":"wait","description":"Waits until it is canceled.","inputSchema":{"type":"object","properties":{}}}]}`

// mcpUpstream is an MCP server of both eras over Streamable HTTP.
func mcpUpstream() (h http.Handler, end func()) {
	server := mcp.NewServer(fakeTools{}, mcp.ServerOptions{Name: "collet-verify", Version: "1.0.0", MaxBody: maxRequest})
	return server.HTTP(), func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nobody needs the rest of what is going on
		_ = server.Close(ctx)
	}
}

type fakeTools struct{}

// Describe implements mcp.Handler.
func (fakeTools) Describe(context.Context, *mcp.Caller) mcp.Description {
	return mcp.Description{Capabilities: json.RawMessage(`{"tools":{}}`)}
}

// Handle implements mcp.Handler.
func (fakeTools) Handle(ctx context.Context, r *mcp.Incoming) (json.RawMessage, error) {
	switch r.Method {
	case "tools/list":
		return json.RawMessage(mcpTools), nil
	case "tools/call":
	default:
		return nil, mcp.ErrMethodNotFound
	}
	params := gjson.ParseBytes(r.Params)
	args := params.Get("arguments")
	text := func(quoted string) (json.RawMessage, error) {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, quoted), nil
	}
	switch params.Get("name").Str {
	case "echo":
		if v := args.Get("text"); v.Type == gjson.String {
			if r.Progress != nil {
				r.Progress(json.RawMessage(`{"progress":1,"total":1}`))
			}
			return text(v.Raw)
		}
	case "add":
		if a, b := args.Get("a"), args.Get("b"); a.Type == gjson.Number && b.Type == gjson.Number {
			return text(fmt.Sprintf(`"%d"`, a.Int()+b.Int()))
		}
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return nil, &mcp.WireError{Code: -32602, Message: "Unknown tool"}
	}
	return nil, &mcp.WireError{Code: -32602, Message: "Invalid arguments"}
}
