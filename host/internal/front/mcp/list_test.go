package mcp

import (
	"encoding/json"
	"strconv"
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
		concerned := f.Changed()
		for range 2 { // clients of one credential
			if got := concerned(&protocol.Caller{}); got != want {
				t.Errorf("%s: changed is %v", when, got)
			}
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

// settling is a host that may wait for its servers.
type settling struct {
	Host
	waits bool
}

func (h *settling) Settling(func(string) bool) bool { return h.waits }

// still is a host whose servers are the same until it is given others.
type still struct {
	inquirer
	servers []Server
}

func (h *still) Servers() []Server { return h.servers }

// A list is ready when it has been made for these servers and none is waited for.
func TestReady(t *testing.T) {
	names := []string{"a"}
	fixed := &still{servers: shifting{names: &names}.Servers()}
	h := &settling{Host: fixed}
	f := New(h)
	defer f.Close()
	c := &protocol.Caller{}
	ready := func(when string, want bool) {
		t.Helper()
		if got := f.Ready(c, "tools/list"); got != want {
			t.Errorf("%s: ready is %v", when, got)
		}
	}
	list := func() {
		t.Helper()
		if _, err := f.listTools(t.Context(), &protocol.Incoming{Caller: c}); err != nil {
			t.Fatal(err)
		}
	}
	ready("before anybody asked", false)
	list()
	ready("asked for", true)
	if f.Ready(c, "tools/call") {
		t.Error("a call is ready")
	}
	h.waits = true
	ready("a server starts", false)
	h.waits = false
	fixed.servers = shifting{names: &names}.Servers()
	ready("of other servers", false)
	list()
	ready("of those, asked for", true)
}

// owners is a host of two servers whose principals are owners of their own.
type owners struct {
	shifting
	more *[]string // the tools of the other server
}

func (h owners) Owner(principal any) string {
	if o, ok := principal.(*only); ok {
		return o.server
	}
	return "all"
}

func (h owners) Servers() []Server {
	other := shifting{names: h.more}.Servers()[0]
	other.Name = "t"
	for i := range other.Tools {
		of := other.Tools[i].Tool
		other.Tools[i].Tool = &catalog.Tool{Server: "t", Name: of.Name, Definition: of.Definition}
		other.Tools[i].Wire = "t__" + of.Name
	}
	return append(h.shifting.Servers(), other)
}

// Who may use a part hears of changes of that part alone.
func TestChangesConcernWhoSeesThem(t *testing.T) {
	names, more := []string{"a"}, []string{"a"}
	f := New(owners{shifting{names: &names}, &more})
	defer f.Close()
	everything, part, silent := &protocol.Caller{}, &protocol.Caller{Principal: &only{"s"}}, &protocol.Caller{Principal: &only{"t"}}
	for _, c := range []*protocol.Caller{everything, part} {
		if _, err := f.listTools(t.Context(), &protocol.Incoming{Caller: c}); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(when string, wants ...bool) {
		t.Helper()
		concerned := f.Changed()
		for i, c := range []*protocol.Caller{everything, part, silent} {
			if got := concerned(c); got != wants[i] {
				t.Errorf("%s: client %d: changed is %v", when, i, got)
			}
		}
	}
	changed("at first", false, false, false)
	more = []string{"a", "b"}
	changed("after a change of the other server", true, false, false)
	names = []string{"c"}
	changed("after a change of its own", true, true, false)
	changed("after that was told", false, false, false)

	// However many there are, nobody misses a change.
	for i := range 2 * maxKnown {
		f.given(&protocol.Caller{Principal: &only{"nobody-" + strconv.Itoa(i)}})
	}
	if len(f.told.by) > maxKnown {
		t.Errorf("%d are remembered", len(f.told.by))
	}
	names = []string{"d"}
	changed("after many others came", true, true, true)
}
