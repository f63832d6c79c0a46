package azmcp

import (
	"context"
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// careful is the server's client. Before it shows secrets the server asks a person to
// choose between accept and reject, in a form, and takes any form that is sent in for
// an accept: a choice of reject is made a refusal here.
type careful struct{ *mcp.Client }

// CallTool implements mcpadapter.Upstream.
func (c careful) CallTool(ctx context.Context, tool string, args json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error) {
	opt.OnRequest = honest(opt.OnRequest)
	return c.Client.CallTool(ctx, tool, args, opt)
}

func honest(answer mcp.Answerer) mcp.Answerer {
	if answer == nil {
		return nil
	}
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		raw, err := answer(ctx, method, params)
		if err == nil && method == "elicitation/create" && gjson.GetBytes(raw, "action").Str == "accept" && gjson.GetBytes(raw, "content.decision").Str != "accept" {
			return json.RawMessage(`{"action":"decline"}`), nil
		}
		return raw, err
	}
}
