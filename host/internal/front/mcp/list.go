package mcp

import (
	"bytes"
	"context"
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
	f.given()
	list := f.outlook(r.Caller).list()
	if r.Caller.Modern {
		return list.modern, nil
	}
	return list.legacy, nil
}

// given notes that a client is about to get the list as it is now.
func (f *Front) given() {
	f.telling.Lock()
	defer f.telling.Unlock()
	now := f.outlook(everybody).list().legacy
	if f.told == nil {
		f.told = now
	}
	f.ahead = f.ahead || !bytes.Equal(f.told, now)
}

// Changed reports whether clients have to be told that the list is another one:
// once for each change, and also when one of them has asked since and knows it.
// Nobody needs to be told of a list that nobody has read.
func (f *Front) Changed() bool {
	f.telling.Lock()
	defer f.telling.Unlock()
	if f.told == nil {
		return false
	}
	now := f.outlook(everybody).list().legacy
	if !f.ahead && bytes.Equal(f.told, now) {
		return false
	}
	f.told, f.ahead = now, false
	return true
}

// list is the result of tools/list: always the same bytes for the same tools.
type list struct{ legacy, modern json.RawMessage }

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
	return &list{
		legacy: slices.Concat(b, []byte(`}`)),
		// Private: with credentials of its own, another client may get another list.
		modern: slices.Concat(b, []byte(`,"ttlMs":0,"cacheScope":"private"}`)),
	}
}

// InputSchema is the schema of a tool as it is listed to a caller.
func (f *Front) InputSchema(_ context.Context, c *protocol.Caller, wire string) json.RawMessage {
	if t, ok := f.outlook(c).tools[wire]; ok {
		return listedSchema(t)
	}
	return nil
}
