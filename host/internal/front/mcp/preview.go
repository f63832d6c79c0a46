package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// Search is the structuredContent of tool_search's answer to a client that may use
// everything. server "" means all servers, limit 0 the default.
func (f *Front) Search(ctx context.Context, query, server string, limit int) (json.RawMessage, error) {
	var o rawjson.Object
	o.String("query", query)
	o.String("server", server)
	if limit > 0 {
		o.Int("limit", int64(limit))
	}
	answer, err := f.search(ctx, &protocol.Incoming{Caller: everybody}, o.Bytes())
	if err != nil {
		return nil, err
	}
	return json.RawMessage(gjson.GetBytes(answer, "structuredContent").Raw), nil
}

// Prompt is what a client puts before its model at the beginning of every
// conversation.
type Prompt struct {
	// Tools are the definitions of the list, each with what reaches a model: name,
	// description and inputSchema. Titles, annotations and outputSchema stay with the
	// client.
	Tools        []json.RawMessage
	Instructions string
}

// NewPrompt is the prompt of a client of those servers.
func NewPrompt(servers []Server) Prompt {
	p := Prompt{Instructions: Instructions(servers)}
	gjson.GetBytes(newOutlook(servers).list().bytes, "tools").ForEach(func(_, tool gjson.Result) bool {
		p.Tools = append(p.Tools, forModel(tool))
		return true
	})
	return p
}

// Definition is what reaches a model of a tool that is listed directly.
func Definition(t Tool) json.RawMessage {
	return forModel(gjson.ParseBytes(appendDefinition(nil, t)))
}

func forModel(tool gjson.Result) json.RawMessage {
	var o rawjson.Object
	for _, key := range []string{"name", "description", "inputSchema"} {
		if v := tool.Get(key); v.Exists() {
			o.Raw(key, []byte(v.Raw))
		}
	}
	return o.Bytes()
}

// Exposed are the servers as if all of their tools that are not hidden were exposed
// as e.
func Exposed(servers []Server, e exposure.Exposure) []Server {
	servers = slices.Clone(servers)
	for i := range servers {
		s := &servers[i]
		s.Rules = exposure.Rules{Default: e}
		s.Tools = slices.Clone(s.Tools)
		for j := range s.Tools {
			s.Tools[j].Exposure = e
		}
	}
	return servers
}
