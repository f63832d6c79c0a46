package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// maxPages bounds how many pages of one server's list are read.
const maxPages = 100

// members are what the lists of MCP are called in their results.
var members = map[string]string{
	"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// listAll merges a list of all servers that have one, in their order. A server
// that fails to list is left out: it must not take the others with it.
func (f *Front) listAll(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	f.settled(ctx, r.Caller)
	servers := offering(f.servers(r.Caller), r.Method)
	lists := make([][][]byte, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			lists[i] = f.listOne(ctx, r.Caller, s, r.Method)
		})
	}
	wg.Wait()
	f.gathered.give(r.Method, f.servers(r.Caller), servers, lists)
	var all [][]byte
	for i, s := range servers {
		for _, item := range lists[i] {
			all = append(all, f.renamed(s.Name, r.Method, string(item)))
		}
	}
	if f.host.Plain() && len(servers) > 1 {
		all = unambiguous(r.Method, all)
	}
	var o rawjson.Object
	o.Raw(members[r.Method], rawjson.Array(all))
	if r.Caller.Modern {
		o.Int("ttlMs", 0)
		o.String("cacheScope", "private")
	}
	return o.Bytes(), nil
}

// on is a request on behalf of a client.
func (f *Front) on(c *protocol.Caller, server, method string, params json.RawMessage) call.ForwardRequest {
	return call.ForwardRequest{
		Server: server, Method: method, Params: params,
		Caller: exposure.Model, Owner: f.host.Owner(c.Principal), Session: c.Session,
	}
}

// listOne is one server's list as the server wrote it, its pages in one. Nobody
// knows how long a server takes that this host has not been able to ask yet.
func (f *Front) listOne(ctx context.Context, c *protocol.Caller, s Server, method string) [][]byte {
	if !s.Asked && !f.host.Arrived(ctx, s.Name) {
		return nil
	}
	all, _ := f.pages(ctx, f.on(c, s.Name, method, nil)) // what there is
	return all
}

// pages are the pages of a list in one; an error is of the one after them.
func (f *Front) pages(ctx context.Context, list call.ForwardRequest) ([][]byte, error) {
	var all [][]byte
	list.Params = json.RawMessage(`{}`)
	for range maxPages {
		raw, err := f.host.Forward(ctx, list)
		if err != nil {
			return all, err
		}
		for _, item := range gjson.GetBytes(raw, members[list.Method]).Array() {
			if item.IsObject() {
				all = append(all, []byte(item.Raw))
			}
		}
		cursor := gjson.GetBytes(raw, "nextCursor")
		if cursor.Type != gjson.String || cursor.String() == "" {
			break
		}
		list.Params = append(rawjson.AppendString([]byte(`{"cursor":`), cursor.String()), '}')
	}
	return all, nil
}

// getPrompt passes prompts/get on to the server whose prompt it is.
func (f *Front) getPrompt(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	return f.forwardPrompt(ctx, r, "name")
}

// readResource passes resources/read on to the server whose resource it is.
func (f *Front) readResource(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	return f.forwardResource(ctx, r, "uri")
}

// complete passes completion/complete on to the server that its reference names.
func (f *Front) complete(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	if gjson.GetBytes(r.Params, "ref.uri").Exists() {
		return f.forwardResource(ctx, r, "ref.uri")
	}
	return f.forwardPrompt(ctx, r, "ref.name")
}

func (f *Front) forwardPrompt(ctx context.Context, r *protocol.Incoming, path string) (json.RawMessage, error) {
	wire := gjson.GetBytes(r.Params, path)
	o, err := f.promptOf(ctx, r.Caller, wire.String())
	if err != nil {
		return nil, err
	}
	return f.forward(ctx, r, o.server, path, o.own)
}

// forwardResource asks those whom a URI may belong to, in turn while it is not
// theirs.
func (f *Front) forwardResource(ctx context.Context, r *protocol.Incoming, path string) (json.RawMessage, error) {
	owners, err := f.ownersOf(ctx, r.Caller, r.Method, gjson.GetBytes(r.Params, path).String())
	if err != nil {
		return nil, err
	}
	var result json.RawMessage
	for _, o := range owners {
		if result, err = f.forward(ctx, r, o.server, path, o.own); !isNotFound(err) {
			break
		}
	}
	return result, err
}

// isNotFound says whether a server has answered that a resource is not there, by
// either era's code.
func isNotFound(err error) bool {
	f, ok := errors.AsType[*failure.Failure](err)
	return ok && (f.UpstreamCode == -32602 || f.UpstreamCode == -32002)
}

// Concerns says whether a client may hear of a server.
func (f *Front) Concerns(c *protocol.Caller, server string) bool {
	who, narrowed := c.Principal.(Principal)
	return !narrowed || who.AllowsServer(server)
}

// Notification is a server's notification as the face's clients get it.
func (f *Front) Notification(server, method string, params json.RawMessage) (string, json.RawMessage) {
	if method == "notifications/resources/updated" {
		params = replaced(string(params), gjson.GetBytes(params, "uri"), func(own string) string { return f.uri(server, own) })
	}
	return method, params
}

// forward passes a request on to a server, with the string at path in its
// parameters as that server knows it. What a server asks of a legacy client in
// place of a result is asked here.
func (f *Front) forward(ctx context.Context, r *protocol.Incoming, server, path, own string) (json.RawMessage, error) {
	params := replaced(string(r.Params), gjson.GetBytes(r.Params, path), func(string) string { return own })
	if !r.Caller.Modern {
		params = rawjson.Set(params, "_meta", declaring(r))
	}
	about := server + "/" + own
	state, err := f.upstreamState(r, about)
	if err != nil {
		return nil, err
	}
	if state != "" {
		params = replaced(string(params), gjson.GetBytes(params, "requestState"), func(string) string { return state })
	}
	for range maxRounds {
		req := f.on(r.Caller, server, r.Method, params)
		req.OnProgress, req.OnLog, req.Ask = progress(r), logger(r), r.Ask
		raw, err := f.host.Forward(ctx, req)
		if err != nil {
			return nil, protocolError(err)
		}
		if gjson.GetBytes(raw, "resultType").String() != "input_required" {
			return cacheable(r, raw), nil
		}
		if r.Caller.Modern {
			return replaced(string(raw), gjson.GetBytes(raw, "requestState"), func(state string) string { return f.passedOn(r, about, state) }), nil
		}
		if params, err = answered(ctx, r, params, raw); err != nil {
			return nil, err
		}
	}
	return nil, &protocol.WireError{Code: -32000, Message: server + " asked for more input too often"}
}

// cacheable adds what a modern client wants to be told of how long it may keep what
// it has read, where an older server does not say (2026-07-28, CacheableResult).
func cacheable(r *protocol.Incoming, result json.RawMessage) json.RawMessage {
	if !r.Caller.Modern || r.Method != "resources/read" {
		return result
	}
	if !gjson.GetBytes(result, "ttlMs").Exists() {
		result = rawjson.Set(result, "ttlMs", []byte("0"))
	}
	if !gjson.GetBytes(result, "cacheScope").Exists() {
		result = rawjson.Set(result, "cacheScope", []byte(`"private"`))
	}
	return result
}

// protocolError is a failure as JSON-RPC error.
func protocolError(err error) error {
	fail, ok := errors.AsType[*call.Failure](err)
	switch {
	case !ok:
		return err
	case fail.UpstreamCode < 0: // the server's own JSON-RPC error, passed on
		return &fail.Failure
	case fail.Class == failure.OverBudget:
		return &protocol.WireError{Code: codeOverBudget, Message: fail.Message, Data: fail.UpstreamData}
	}
	return &protocol.WireError{Code: codeOf(fail.Class), Message: fail.Error()}
}

// codeOverBudget is the code of an answer that is larger than response_budget; its
// data says with which handle to read it.
const codeOverBudget = -32010

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
