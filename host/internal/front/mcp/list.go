package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// listTools answers tools/list: the direct tools by wire name, then the bridge
// tools that the configuration calls for. There is one page: a client reads all
// of them anyway, and a cursor would have to survive a list that changes.
func (f *Front) listTools(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	f.settled(ctx, r.Caller)
	f.given(r.Caller)
	seen := f.outlook(r.Caller)
	if seen.offers(codeMode) {
		f.host.PrepareScripts()
	}
	list := seen.list()
	r.Prepared = list.legacy
	if r.Caller.Modern {
		r.Prepared = list.modern
	}
	return nil, nil
}

// Ready implements protocol.ReadyHandler: a list that has been asked for before is there.
func (f *Front) Ready(c *protocol.Caller, method string) bool {
	return method == "tools/list" && f.outlook(c).rendered.Load() &&
		!f.host.Settling(func(server string) bool { return f.Concerns(c, server) })
}

// list is the result of tools/list: always the same bytes for the same tools.
type list struct {
	bytes          json.RawMessage
	legacy, modern *protocol.Prepared
	sum            [sha256.Size]byte
}

func (o *outlook) render() *list {
	var direct []Tool
	for _, s := range o.servers {
		for _, t := range s.Tools {
			if t.Exposure.Listed(exposure.Model) && t.Wire != "" {
				direct = append(direct, t)
			}
		}
	}
	slices.SortFunc(direct, func(a, b Tool) int { return strings.Compare(a.Wire, b.Wire) })
	b := []byte(`{"tools":[`)
	comma := ""
	for _, t := range direct {
		b = append(b, comma...)
		b = appendDefinition(b, t)
		comma = ","
	}
	for _, own := range o.bridges {
		b = append(append(b, comma...), own.definition...)
		comma = ","
	}
	b = append(b, ']')
	whole := slices.Concat(b, []byte(`}`))
	return &list{
		bytes:  whole,
		legacy: protocol.Prepare(whole),
		// Private: with credentials of its own, another client may get another list.
		modern: protocol.Prepare(slices.Concat(b, []byte(`,"ttlMs":0,"cacheScope":"private"}`))),
		sum:    sha256.Sum256(b),
	}
}

// InputSchema is the schema of a tool as it is listed to a caller.
func (f *Front) InputSchema(_ context.Context, c *protocol.Caller, wire string) json.RawMessage {
	if t, ok := f.outlook(c).tools[wire]; ok {
		return listedSchema(t)
	}
	return nil
}
