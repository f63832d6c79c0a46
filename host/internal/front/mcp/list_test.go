package mcp

import (
	"encoding/json"
	"testing"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// shifting is a host whose one server has the tools that a test names.
type shifting struct {
	inquirer
	names *[]string
}

func (h shifting) Servers() []Server {
	s := Server{Name: "s"}
	for _, n := range *h.names {
		t := &catalog.Tool{Server: "s", Name: n, Definition: json.RawMessage(`{"name":"` + n + `"}`)}
		s.Tools = append(s.Tools, Tool{Tool: t, Wire: "s__" + n, Exposure: exposure.Direct})
	}
	return []Server{s}
}

// A change is told once, and to everybody: that one client has asked for the list
// in between says nothing of what the others know.
func TestChangesAreToldOnce(t *testing.T) {
	names := []string{"a"}
	f := New(shifting{names: &names})
	defer f.Close()
	list := func() {
		t.Helper()
		if _, err := f.listTools(t.Context(), &protocol.Incoming{Caller: &protocol.Caller{}}); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(want bool, when string) {
		t.Helper()
		if got := f.Changed(); got != want {
			t.Errorf("%s: changed is %v", when, got)
		}
	}
	names = []string{"a", "b"}
	changed(false, "before anybody asked")
	list()
	changed(false, "as it was given")
	names = []string{"a"}
	changed(true, "after a change")
	changed(false, "after it was told")
	names = []string{"c"}
	list()
	changed(true, "after a client was faster than the announcement")
	changed(false, "after that was told")
	names = []string{"d"}
	list()
	names = []string{"c"}
	changed(true, "back again, but a client has what was in between")
	changed(false, "after that too")
}
