package host

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode/declare"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/search"
	"github.com/collet-dev/collet/host/internal/server"
)

// scriptIndex ranks tools for scripts: every tool that is not hidden.
type scriptIndex struct {
	mu      sync.Mutex
	index   search.Index
	indexed map[string][]*catalog.Tool
}

const (
	defaultHits = 8  // of a search in a script
	maxHits     = 50 // as of tool_search
)

// Search implements codemode.Guide. Servers that are starting are waited for, as the
// list of a model client does.
func (b *bridge) Search(ctx context.Context, query, server string, limit int) (json.RawMessage, error) {
	h := b.host
	wait, cancel := context.WithTimeout(ctx, h.hub.Config().Host.ConnectWait)
	h.hub.Ready(wait, slices.DeleteFunc(slices.Clone(h.hub.Names()), func(n string) bool { return !b.allowsServer(n) }), false)
	cancel()
	if limit <= 0 {
		limit = defaultHits
	}
	tools := h.scriptIndex.update(h)
	hits, _ := h.scriptIndex.index.Search(query, search.Options{
		Server: server, Limit: min(limit, maxHits),
		Keep: func(server, tool string) bool {
			t, ok := tools[name.Join(server, tool)]
			return ok && t.exposure.Searchable(exposure.Script) && b.allowsServer(server) && b.allows(t.tool.FullName())
		},
	})
	found := make([][]byte, 0, len(hits))
	for _, hit := range hits {
		t := tools[name.Join(hit.Server, hit.Tool)]
		var o rawjson.Object
		o.String("name", t.tool.FullName())
		o.String("description", t.tool.Description)
		o.String("exposure", string(t.exposure))
		o.Bool("approval", h.asksConsent(t.tool))
		found = append(found, o.Bytes())
	}
	return rawjson.Array(found), nil
}

// indexedTool is a tool as a search needs it.
type indexedTool struct {
	tool     *catalog.Tool
	exposure Exposure
}

// update brings the index up to date with the servers' lists, and returns their tools.
func (x *scriptIndex) update(h *Host) map[string]indexedTool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.indexed == nil {
		x.indexed = map[string][]*catalog.Tool{}
	}
	all := map[string]indexedTool{}
	seen := map[string]bool{}
	for _, n := range h.hub.Names() {
		s := h.hub.Server(n)
		if s == nil {
			continue
		}
		seen[n] = true
		tools, _ := s.Tools()
		rules := s.Settings().Rules
		for _, t := range tools {
			all[t.FullName()] = indexedTool{t, rules.Of(t.Name)}
		}
		x.put(s, tools)
	}
	for n := range x.indexed {
		if !seen[n] {
			x.index.Remove(n)
			delete(x.indexed, n)
		}
	}
	return all
}

func (x *scriptIndex) put(s *server.Server, tools []*catalog.Tool) {
	have, ok := x.indexed[s.Name()]
	if ok && len(have) == len(tools) && (len(tools) == 0 || have[0] == tools[0] && have[len(have)-1] == tools[len(tools)-1]) {
		return // a list is made anew as a whole
	}
	part := search.Server{Name: s.Name(), Description: s.Settings().Description}
	if in := s.Introduction(); in != nil {
		part.Instructions = in.Instructions
	}
	for _, t := range tools {
		part.Tools = append(part.Tools, search.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema})
	}
	x.index.Put(part)
	x.indexed[s.Name()] = tools
}

// Describe implements codemode.Guide.
func (b *bridge) Describe(ctx context.Context, tools []string) (string, error) {
	declared := make([]declare.Tool, 0, len(tools))
	identifiers := name.ServerIdentifiers(b.host.hub.Names())
	for _, canonical := range tools {
		sn, tn, _ := name.Split(canonical)
		if !b.allowsServer(sn) {
			return "", notAllowed(canonical)
		}
		asked := canonical
		canonical = b.resolve(ctx, sn, tn)
		if !b.allows(canonical) {
			return "", notAllowed(asked)
		}
		t, s, err := b.host.hub.Find(ctx, canonical)
		if err != nil {
			return "", b.toolError(ctx, canonical, unfound(sn, tn, err))
		}
		declared = append(declared, declare.Tool{
			Server: t.Server, Name: t.Name, ServerIdentifier: identifiers[t.Server], Identifier: b.identifiers(s)[t.Name],
			Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema,
		})
	}
	return declare.Declarations(declared, declare.Limit), nil
}

// unfound is the failure of a tool that the hub did not find.
func unfound(serverName, tool string, err error) *Failure {
	f := ofServer(serverName, server.AsFailure(err))
	f.Tool = tool
	return f
}

// Server implements codemode.Guide.
func (b *bridge) Server(ctx context.Context, n string) (json.RawMessage, error) {
	if !b.allowsServer(n) {
		return nil, notAllowed(n)
	}
	s, err := b.host.hub.Enabled(n)
	if err == nil {
		err = s.List(ctx)
	}
	if err != nil {
		return nil, b.toolError(ctx, n, ofServer(n, server.AsFailure(err)))
	}
	var o rawjson.Object
	o.String("name", n)
	o.String("description", s.Settings().Description)
	if in := s.Introduction(); in != nil {
		o.String("instructions", in.Instructions)
	}
	o.Strings("tools", b.tools(s))
	return o.Bytes(), nil
}
