package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// Prompts are spelled like tools, server__prompt. A resource's URI is the
// server's own behind "collet:SERVER/", so that two servers' cannot collide and
// a template stays one (RFC 6570). Under plain wire names both are the servers'
// own.
const uriPrefix = "collet:"

// owned is a server's own name for a prompt or a resource.
type owned struct{ server, own string }

func (f *Front) promptName(server, prompt string) string {
	if f.host.Plain() {
		return prompt
	}
	return name.Wire(server, prompt)
}

func (f *Front) uri(server, own string) string {
	if f.host.Plain() {
		return own
	}
	return uriPrefix + server + "/" + own
}

// renamed is an item of a list as the server wrote it, but for the member that
// names it.
func (f *Front) renamed(server, method, item string) []byte {
	key, to := "name", f.promptName
	switch method {
	case "resources/list":
		key, to = "uri", f.uri
	case "resources/templates/list":
		key, to = "uriTemplate", f.uri
	}
	return replaced(item, gjson.Get(item, key), func(s string) string { return to(server, s) })
}

// unambiguous leaves out what cannot be reached by its name: prompts that several
// servers have, of which nobody gets one as of tools, and resources for which
// another server is asked before.
func unambiguous(method string, items [][]byte) [][]byte {
	key := map[string]string{"prompts/list": "name", "resources/list": "uri", "resources/templates/list": "uriTemplate"}[method]
	claims := map[string]int{}
	for _, item := range items {
		claims[gjson.GetBytes(item, key).String()]++
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(item []byte) bool {
		n := gjson.GetBytes(item, key).String()
		again := seen[n]
		seen[n] = true
		return again || key == "name" && claims[n] > 1
	})
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

// promptOf finds the prompt of a name that the face gave it. Where the name does
// not say whose it is, the servers are asked.
func (f *Front) promptOf(ctx context.Context, c *protocol.Caller, wire string) (owned, error) {
	f.settled(ctx, c)
	servers := offering(f.servers(c), "prompts/get")
	plain := f.host.Plain()
	if plain && len(servers) == 1 {
		return owned{servers[0].Name, wire}, nil // who knows best whether there is one
	}
	var found []owned
	for _, s := range servers {
		if !plain {
			own, ok := strings.CutPrefix(wire, s.Name+"__")
			if !ok {
				continue
			}
			if name.Wire(s.Name, own) == wire {
				return owned{s.Name, own}, nil // no altered name is like it
			}
		}
		for _, p := range f.listOne(ctx, c, s, "prompts/list") {
			own := gjson.GetBytes(p, "name").String()
			if f.promptName(s.Name, own) == wire {
				found = append(found, owned{s.Name, own})
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return owned{}, invalidParams("Unknown prompt: " + wire)
	case 1:
		return found[0], nil
	}
	return owned{}, invalidParams("Several servers have a prompt " + wire + ": " + found[0].server + " and " + found[1].server)
}

// ownersOf are whom a URI may belong to, of the servers that take a method. Behind
// a prefix there is one. One without came from a tool's result, and is the only
// server's that has resources, or nobody's; under plain names it may be anybody's.
func (f *Front) ownersOf(ctx context.Context, c *protocol.Caller, method, uri string) ([]owned, error) {
	f.settled(ctx, c)
	servers := offering(f.servers(c), method)
	var owners []owned
	rest, prefixed := strings.CutPrefix(uri, uriPrefix)
	switch {
	case f.host.Plain() || !prefixed && len(servers) == 1:
		for _, s := range servers {
			// Whoever may be the one that has it must not hold up those who do.
			if len(servers) == 1 || s.Asked || f.host.Arrived(ctx, s.Name) {
				owners = append(owners, owned{s.Name, uri})
			}
		}
	case prefixed:
		server, own, _ := strings.Cut(rest, "/")
		if slices.ContainsFunc(servers, func(s Server) bool { return s.Name == server }) {
			owners = append(owners, owned{server, own})
		}
	}
	if owners == nil {
		return nil, notFound(c, uri)
	}
	return owners, nil
}

// notFound is the error of a resource that is nobody's: -32602 since 2026-07-28,
// -32002 before (server/resources, Error Handling).
func notFound(c *protocol.Caller, uri string) error {
	code := -32002
	if c.Modern {
		code = -32602
	}
	return &protocol.WireError{Code: code, Message: "Resource not found: " + uri}
}

// offering are the servers that take a method.
func offering(servers []Server, method string) []Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return !slices.Contains(s.Methods, method) })
}
