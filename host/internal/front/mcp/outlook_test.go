package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// steady is a host whose servers are those that a test names.
type steady struct {
	inquirer
	now *[]Server
}

func (h steady) Servers() []Server { return *h.now }

type narrowed struct{ tool string }

func (n *narrowed) AllowsServer(string) bool { return true }

func (n *narrowed) Exposure(_, tool string, e exposure.Exposure) exposure.Exposure {
	if tool == n.tool {
		return e
	}
	return exposure.Hidden
}

func serverOf(tools ...string) []Server {
	s := Server{Name: "s", Methods: []string{"prompts/get"}}
	for _, n := range tools {
		t := &catalog.Tool{Server: "s", Name: n, Definition: json.RawMessage(`{"name":"` + n + `"}`)}
		s.Tools = append(s.Tools, Tool{Tool: t, Wire: "s__" + n, Exposure: exposure.Direct})
	}
	return []Server{{Name: "r"}, s}
}

// An outlook lasts as long as the servers, is one for each principal, and is never
// another's.
func TestOutlooks(t *testing.T) {
	now := serverOf("a", "b")
	f := New(steady{now: &now})
	defer f.Close()
	a, b := &narrowed{"a"}, &narrowed{"b"}
	sees := func(principal any, want ...string) {
		t.Helper()
		o := f.outlook(&protocol.Caller{Principal: principal})
		for _, n := range []string{"a", "b", "c"} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == n
			}
			_, wire := o.tools["s__"+n]
			_, canonical := o.tools["s/"+n]
			if wire != wanted || canonical != wanted {
				t.Errorf("%v sees %s: %v and %v", principal, n, wire, canonical)
			}
		}
	}
	for range 2 {
		sees(nil, "a", "b")
		sees(a, "a")
		sees(b, "b")
	}
	first, second := f.outlook(&protocol.Caller{Principal: a}), f.outlook(&protocol.Caller{Principal: a})
	if first != second {
		t.Error("the same is made again")
	}
	// Asking for what a method concerns leaves the others where they are.
	if got := offering(f.servers(everybody), "prompts/get"); len(got) != 1 || now[0].Name != "r" {
		t.Errorf("%v, of %v", got, now)
	}
	now = serverOf("a", "c")
	sees(a, "a")
	sees(b)
	sees(nil, "a", "c")
	for i := range 3 * maxOutlooks {
		sees(&narrowed{[]string{"a", "c", "x"}[i%3]}, []string{"a", "c", "x"}[i%3])
	}
	if n := len(f.outlooks.of); n > maxOutlooks {
		t.Errorf("%d outlooks are kept", n)
	}
}

// A tool that its server has no more is found by its names by those alone who might
// see it, and is in nobody's list.
func TestWithdrawnTools(t *testing.T) {
	now := serverOf("a")
	now[1].Withdrawn = serverOf("b", "c", "a")[1].Tools
	now[1].Withdrawn[1].Wire = "" // under plain names it has lost it
	f := New(steady{now: &now})
	defer f.Close()
	all, own := f.outlook(everybody), f.outlook(&protocol.Caller{Principal: &narrowed{"c"}})
	for name, want := range map[string][2]bool{
		"s__a": {true, false}, "s/a": {true, false}, "s__b": {true, false}, "s/b": {true, false},
		"s/c": {true, true}, "s__c": {false, false}, "": {false, false},
	} {
		_, whole := all.tool(name)
		_, narrow := own.tool(name)
		if whole != want[0] || narrow != want[1] {
			t.Errorf("%s: found %v, and %v by who may see c; want %v", name, whole, narrow, want)
		}
	}
	if got, _ := all.tool("s/a"); got.Tool != now[1].Tools[0].Tool {
		t.Error("the tool that was is found in the place of the one that is")
	}
	if list := string(all.list().bytes); strings.Contains(list, "s__b") {
		t.Error(list)
	}
}
