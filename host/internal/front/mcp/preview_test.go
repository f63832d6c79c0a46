package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// TestSearchIsToolSearch compares the two ways to one answer.
func TestSearchIsToolSearch(t *testing.T) {
	f := New(newShelf(9, "files", "notes"))
	defer f.Close()
	for _, c := range []struct {
		server, arguments string
		limit             int
	}{
		{"", `{"query":"read 07"}`, 0},
		{"notes", `{"query":"read 07","server":"notes","limit":2}`, 2},
	} {
		got, err := f.Search(t.Context(), "read 07", c.server, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := f.search(t.Context(), &protocol.Incoming{Caller: everybody}, json.RawMessage(c.arguments))
		if err != nil {
			t.Fatal(err)
		}
		if want := gjson.GetBytes(answer, "structuredContent").Raw; string(got) != want || gjson.Get(want, "total").Int() == 0 {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPrompt(t *testing.T) {
	definition := `{"name":"a","title":"T","description":"D","inputSchema":{"properties":{"n":{"maximum":1e400}}},"outputSchema":{"type":"object"},"annotations":{}}`
	servers := []Server{{
		Name: "s", Description: "All of it", Rules: exposure.Rules{Default: exposure.Hidden},
		Tools: []Tool{{Tool: &catalog.Tool{Server: "s", Name: "a", Definition: json.RawMessage(definition)}, Wire: "s__a", Exposure: exposure.Codemode}},
	}}
	want := `{"name":"s__a","description":"D","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400}}}}`
	if got := Definition(servers[0].Tools[0]); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	has := func(p Prompt, text string) bool {
		return bytes.Contains(bytes.Join(slicesOf(p.Tools), nil), []byte(text))
	}
	direct := NewPrompt(Exposed(servers, exposure.Direct))
	if !has(direct, want) || has(direct, `"name":"tool_search"`) || strings.Contains(direct.Instructions, "All of it") {
		t.Errorf("all direct: %s, %q", direct.Tools, direct.Instructions)
	}
	deferred := NewPrompt(Exposed(servers, exposure.Deferred))
	if has(deferred, "s__a") || !has(deferred, `"name":"tool_search"`) || !has(deferred, `"name":"tool_call"`) || !strings.Contains(deferred.Instructions, "All of it") {
		t.Errorf("all deferred: %s, %q", deferred.Tools, deferred.Instructions)
	}
	if p := NewPrompt(Exposed(servers, exposure.Codemode)); has(p, `"name":"tool_call"`) || !has(p, `"name":"tool_search"`) {
		t.Errorf("all codemode: %s", p.Tools)
	}
	if servers[0].Rules.Default != exposure.Hidden || servers[0].Tools[0].Exposure != exposure.Codemode {
		t.Error("the servers themselves have changed")
	}
}

func slicesOf(raw []json.RawMessage) (list [][]byte) {
	for _, r := range raw {
		list = append(list, r)
	}
	return list
}
