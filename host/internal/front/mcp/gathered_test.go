package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/collet-dev/collet/host/internal/call"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// shelves is a host of servers that have the prompts that a test names.
type shelves struct {
	inquirer
	mu      *sync.Mutex
	prompts map[string]string // by server; "" is one that does not answer
}

func (h shelves) Servers() (servers []Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.prompts {
		servers = append(servers, Server{Name: name, Methods: []string{"prompts/list"}, Asked: true})
	}
	slices.SortFunc(servers, func(a, b Server) int { return int(a.Name[0]) - int(b.Name[0]) })
	return servers
}

func (h shelves) Forward(_ context.Context, req call.ForwardRequest) (json.RawMessage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.prompts[req.Server] == "" {
		return nil, &call.Failure{}
	}
	return json.RawMessage(`{"prompts":[{"name":"` + h.prompts[req.Server] + `"}]}`), nil
}

// Whoever has a list of prompts is told when a server comes that was not in it, comes
// back with others, or goes; and of nothing else.
func TestPromptsOfServersThatComeAndGo(t *testing.T) {
	host := shelves{mu: &sync.Mutex{}, prompts: map[string]string{"a": "one", "b": ""}}
	f := New(host)
	defer f.Close()
	set := func(server, prompt string) {
		host.mu.Lock()
		defer host.mu.Unlock()
		host.prompts[server] = prompt
	}
	list := func(c *protocol.Caller) {
		t.Helper()
		if _, err := f.listAll(t.Context(), &protocol.Incoming{Method: "prompts/list", Caller: c}); err != nil {
			t.Fatal(err)
		}
	}
	all, part := &protocol.Caller{}, &protocol.Caller{Principal: &only{"a"}}
	var mu sync.Mutex
	var told []string
	tell := func(method string, concerned func(*protocol.Caller) bool) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, method)
		if !concerned(all) {
			t.Error("who may use everything is not concerned")
		}
		if concerned(part) {
			told = append(told, "part")
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		f.work.Wait()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q, want %q", when, told, want)
		}
		told = nil
	}
	const changed = "notifications/prompts/list_changed"

	f.CameUp("a", tell)
	expect("before anybody asked")
	list(all)
	f.CameUp("a", tell)
	expect("it came up as it was")
	f.CameUp("b", tell)
	expect("it came up and does not answer")
	set("b", "two")
	f.CameUp("b", tell)
	expect("it came up", changed)
	f.CameUp("b", tell)
	expect("that has been told")
	list(part)
	list(all)
	set("a", "other")
	f.CameUp("a", tell)
	expect("it came back with others", changed, "part")
	set("a", "one")
	list(all)
	f.CameUp("a", tell)
	expect("it came back, but not every client has asked since", changed, "part")

	f.Reconfigured(tell)
	expect("nothing has gone")
	host.mu.Lock()
	delete(host.prompts, "b")
	host.mu.Unlock()
	f.Reconfigured(tell)
	expect("one has gone", changed)
	f.Reconfigured(tell)
	expect("that has been told, too")
	f.CameUp("b", tell)
	expect("one that is not there any more")
}
