package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// Prompts are spelled like tools, server__prompt. A resource's URI is the
// server's own behind "collet:SERVER/", so that two servers' cannot collide and
// a template stays one (RFC 6570).
const uriPrefix = "collet:"

// maxPages bounds how many pages of one server's list are read.
const maxPages = 100

// members are what the lists of MCP are called in their results.
var members = map[string]string{
	"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// listAll merges a list of all servers that have one, in their order. A server
// that fails to list is left out: it must not take the others with it.
func (f *Front) listAll(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	f.host.Settled(ctx)
	servers := slices.DeleteFunc(f.servers(r.Caller), func(s Server) bool { return !slices.Contains(s.Methods, r.Method) })
	lists := make([][][]byte, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { lists[i] = f.listOne(ctx, s.Name, r.Method) })
	}
	wg.Wait()
	var o rawjson.Object
	o.Raw(members[r.Method], rawjson.Array(slices.Concat(lists...)))
	if r.Caller.Modern {
		o.Int("ttlMs", 0)
		o.String("cacheScope", "private")
	}
	return o.Bytes(), nil
}

// listOne is one server's list, its pages in one, under the face's names.
func (f *Front) listOne(ctx context.Context, server, method string) [][]byte {
	var all [][]byte
	params := json.RawMessage(`{}`)
	for range maxPages {
		raw, err := f.host.Forward(ctx, call.ForwardRequest{Server: server, Method: method, Params: params})
		if err != nil {
			return all
		}
		for _, item := range gjson.GetBytes(raw, members[method]).Array() {
			if item.IsObject() {
				all = append(all, renamed(server, method, item.Raw))
			}
		}
		cursor := gjson.GetBytes(raw, "nextCursor")
		if cursor.Type != gjson.String || cursor.String() == "" {
			break
		}
		params = append(rawjson.AppendString([]byte(`{"cursor":`), cursor.String()), '}')
	}
	return all
}

// renamed is an item of a list as the server wrote it, but for the member that
// names it.
func renamed(server, method, item string) []byte {
	key, to := "name", func(s string) string { return name.Wire(server, s) }
	switch method {
	case "resources/list":
		key, to = "uri", func(s string) string { return uriPrefix + server + "/" + s }
	case "resources/templates/list":
		key, to = "uriTemplate", func(s string) string { return uriPrefix + server + "/" + s }
	}
	return replaced(item, gjson.Get(item, key), to)
}

// replaced is text with one of its strings changed, every other byte kept.
func replaced(text string, value gjson.Result, to func(string) string) []byte {
	if value.Type != gjson.String {
		return []byte(text)
	}
	out := append([]byte(nil), text[:value.Index]...)
	out = rawjson.AppendString(out, to(value.String()))
	return append(out, text[value.Index+len(value.Raw):]...)
}

// getPrompt passes prompts/get on to the server whose prompt it is.
func (f *Front) getPrompt(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	wire := gjson.GetBytes(r.Params, "name")
	server, prompt, err := f.promptOf(ctx, r.Caller, wire.String())
	if err != nil {
		return nil, err
	}
	return f.forward(ctx, r, server, replaced(string(r.Params), wire, func(string) string { return prompt }))
}

// promptOf finds the prompt of a wire name. The servers are asked, because a wire
// name may be shortened and cannot be split.
func (f *Front) promptOf(ctx context.Context, c *protocol.Caller, wire string) (server, prompt string, err error) {
	f.host.Settled(ctx)
	for _, s := range f.servers(c) {
		if !slices.Contains(s.Methods, "prompts/get") || !strings.HasPrefix(wire, name.Wire(s.Name, "x")[:len(s.Name)]) {
			continue
		}
		raw, ferr := f.host.Forward(ctx, call.ForwardRequest{Server: s.Name, Method: "prompts/list", Params: json.RawMessage(`{}`)})
		if ferr != nil {
			continue
		}
		for _, p := range gjson.GetBytes(raw, "prompts.#.name").Array() {
			if name.Wire(s.Name, p.String()) == wire {
				return s.Name, p.String(), nil
			}
		}
	}
	return "", "", invalidParams("Unknown prompt: " + wire)
}

// readResource passes resources/read on to the server whose resource it is.
func (f *Front) readResource(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	uri := gjson.GetBytes(r.Params, "uri")
	server, own, err := f.ownerOf(r.Caller, uri.String())
	if err != nil {
		return nil, err
	}
	return f.forward(ctx, r, server, replaced(string(r.Params), uri, func(string) string { return own }))
}

// ownerOf splits a URI of the face. One that came from a tool's result has no
// prefix: it is the only server's that has resources, or nobody's.
func (f *Front) ownerOf(c *protocol.Caller, uri string) (server, own string, err error) {
	servers := slices.DeleteFunc(f.servers(c), func(s Server) bool { return !slices.Contains(s.Methods, "resources/read") })
	if rest, ok := strings.CutPrefix(uri, uriPrefix); ok {
		server, own, _ = strings.Cut(rest, "/")
		if slices.ContainsFunc(servers, func(s Server) bool { return s.Name == server }) {
			return server, own, nil
		}
	} else if len(servers) == 1 {
		return servers[0].Name, uri, nil
	}
	return "", "", &protocol.WireError{Code: -32602, Message: "Resource not found: " + uri}
}

// Notification is a server's notification as the face's clients get it.
func (f *Front) Notification(server, method string, params json.RawMessage) (string, json.RawMessage) {
	if method == "notifications/resources/updated" {
		params = replaced(string(params), gjson.GetBytes(params, "uri"), func(uri string) string { return uriPrefix + server + "/" + uri })
	}
	return method, params
}

// complete passes completion/complete on to the server that its reference names.
func (f *Front) complete(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	if uri := gjson.GetBytes(r.Params, "ref.uri"); uri.Exists() {
		server, own, err := f.ownerOf(r.Caller, uri.String())
		if err != nil {
			return nil, err
		}
		return f.forward(ctx, r, server, replaced(string(r.Params), uri, func(string) string { return own }))
	}
	wire := gjson.GetBytes(r.Params, "ref.name")
	server, prompt, err := f.promptOf(ctx, r.Caller, wire.String())
	if err != nil {
		return nil, err
	}
	return f.forward(ctx, r, server, replaced(string(r.Params), wire, func(string) string { return prompt }))
}

func (f *Front) forward(ctx context.Context, r *protocol.Incoming, server string, params json.RawMessage) (json.RawMessage, error) {
	raw, err := f.host.Forward(ctx, call.ForwardRequest{
		Server: server, Method: r.Method, Params: params,
		OnProgress: progress(r), OnLog: logger(r), Ask: r.Ask,
	})
	var fail *call.Failure
	if !errors.As(err, &fail) {
		return raw, err
	}
	if fail.UpstreamCode < 0 { // the server's own JSON-RPC error, passed on
		return nil, &fail.Failure
	}
	return nil, &protocol.WireError{Code: codeOf(fail.Class), Message: fail.Error()}
}

// codeOf is the JSON-RPC code of a failure that is not the upstream's own. Codes of
// -32000 down to -32019 are an implementation's to give.
func codeOf(c failure.Class) int {
	switch c {
	case failure.NotFound, failure.InvalidArguments:
		return -32602
	case failure.Timeout:
		return -32001
	}
	return -32000
}
