package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/search"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// maxHits is the most tools that one search returns; tool_search's schema says
// it, too.
const maxHits = 50

// search is tool_search.
func (f *Front) search(ctx context.Context, r *protocol.Incoming, arguments json.RawMessage) (json.RawMessage, error) {
	query := gjson.GetBytes(arguments, "query")
	if query.Type != gjson.String {
		return toolError("tool_search", "invalid-arguments", "query is missing: say in a few words what the tool should do"), nil
	}
	limit, ok := hitLimit(gjson.GetBytes(arguments, "limit"))
	if !ok {
		return toolError("tool_search", "invalid-arguments", fmt.Sprintf("limit is a whole number from 1 on; more than %d tools never come at once", maxHits)), nil
	}
	f.settled(ctx, r.Caller)
	f.indexAll(f.host.Servers())
	seen := f.outlook(r.Caller)
	servers, tools := seen.servers, seen.tools
	only := gjson.GetBytes(arguments, "server").String()
	if only != "" && !slices.ContainsFunc(servers, func(s Server) bool { return name.SameServer(s.Name, only) }) {
		return toolError("tool_search", "not-found", noServer(servers, only)), nil
	}
	hits, total := f.index.Search(query.String(), search.Options{
		Server: only,
		Limit:  limit,
		Keep: func(server, tool string) bool {
			t, ok := tools[server+"/"+tool]
			return ok && t.Exposure.Searchable(exposure.Model)
		},
	})
	identifier := f.host.Identifiers()
	all := make([]found, 0, len(hits))
	for _, h := range hits {
		t := tools[h.Server+"/"+h.Tool]
		all = append(all, found{Tool: t, declared: declared(t, identifier), score: h.Score})
	}
	var pending [][]byte
	for _, s := range servers {
		if s.Down {
			var o rawjson.Object
			o.String("server", s.Name)
			o.String("state", s.State)
			pending = append(pending, o.Bytes())
		}
	}
	var o rawjson.Object
	o.Raw("tools", rawjson.Array(tell(all)))
	o.Int("total", int64(total))
	o.Raw("pending", rawjson.Array(pending))
	structured := o.Bytes()
	out := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), string(structured))
	out = append(append(out, `}],"structuredContent":`...), structured...)
	return append(out, '}'), nil
}

// noServer says that a server is not there: that nothing matches would be another
// thing to say.
func noServer(servers []Server, wanted string) string {
	names := make([]string, 0, len(servers))
	for _, s := range servers {
		names = append(names, s.Name)
	}
	message := "no server is called " + wanted
	if near := name.Near(wanted, names, maxNear); len(near) > 0 {
		return message + "; did you mean " + strings.Join(near, ", ") + "? Without server all of them are searched"
	}
	return message + "; search without server for all of them"
}

// hitLimit reads limit: 0 when none is given, and never more than maxHits. What
// cannot be a number of tools is not ok.
func hitLimit(limit gjson.Result) (n int, ok bool) {
	switch {
	case !limit.Exists() || limit.Type == gjson.Null:
		return 0, true
	case limit.Type != gjson.Number || limit.Num < 1 || limit.Num != math.Trunc(limit.Num):
		return 0, false
	}
	return int(min(limit.Num, maxHits)), true
}

// indexAll brings the index up to date with the lists of all servers. There is one
// index, whatever part of them who searches may know of: to make it anew for each
// principal would take from one search what another one is about to look for.
func (f *Front) indexAll(servers []Server) {
	f.indexing.Lock()
	defer f.indexing.Unlock()
	seen := map[string]bool{}
	for _, s := range servers {
		seen[s.Name] = true
		if f.isIndexed(s) {
			continue
		}
		part := search.Server{Name: s.Name, Description: s.Description, Instructions: s.Instructions}
		kept := make([]*catalog.Tool, 0, len(s.Tools))
		for _, t := range s.Tools {
			part.Tools = append(part.Tools, search.Tool{Name: t.Name, Wire: t.Wire, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema})
			kept = append(kept, t.Tool)
		}
		f.index.Put(part)
		f.indexed[s.Name] = kept
	}
	for n := range f.indexed {
		if !seen[n] {
			f.index.Remove(n)
			delete(f.indexed, n)
		}
	}
}

// isIndexed says whether the index has these very tools of the server.
func (f *Front) isIndexed(s Server) bool {
	have, ok := f.indexed[s.Name]
	if !ok || len(have) != len(s.Tools) {
		return false
	}
	for i, t := range s.Tools {
		if have[i] != t.Tool {
			return false
		}
	}
	return true
}
