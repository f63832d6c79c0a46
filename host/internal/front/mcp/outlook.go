package mcp

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// outlook is what one caller sees of the servers as they are at one time. Nothing
// in it changes, and it is made once for all of that caller's requests until
// something does.
type outlook struct {
	servers []Server
	tools   map[string]Tool // by canonical name and by wire name
	gone    map[string]Tool // that a server has no more, likewise
	bridges []bridge
	list    func() *list

	rendered atomic.Bool // list has been called
}

// maxOutlooks bounds the outlooks that are kept, one for each principal.
const maxOutlooks = 16

// outlooks are those of the servers as they are now.
type outlooks struct {
	mu      sync.Mutex
	servers []Server
	of      map[any]*outlook // by principal; nil is whoever sees everything
}

var everybody = &protocol.Caller{}

// outlook returns what a caller may know of.
func (f *Front) outlook(c *protocol.Caller) *outlook {
	servers := f.host.Servers()
	var key any
	who, narrowed := c.Principal.(Principal)
	if narrowed {
		if reflect.ValueOf(who).Kind() != reflect.Pointer { // which may not be comparable
			return newOutlook(narrow(servers, who))
		}
		key = who
	}
	all := &f.outlooks
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil || len(servers) != len(all.servers) || len(servers) > 0 && &servers[0] != &all.servers[0] {
		all.servers, all.of = servers, map[any]*outlook{}
	}
	o := all.of[key]
	if o == nil {
		if len(all.of) >= maxOutlooks {
			clear(all.of)
		}
		if narrowed {
			servers = narrow(servers, who)
		}
		o = newOutlook(servers)
		all.of[key] = o
	}
	return o
}

func newOutlook(servers []Server) *outlook {
	o := &outlook{servers: servers, tools: map[string]Tool{}, gone: map[string]Tool{}, bridges: offered(servers)}
	put := func(into map[string]Tool, tools []Tool) {
		for _, t := range tools {
			for _, n := range []string{t.FullName(), t.Wire} {
				if _, taken := into[n]; !taken && n != "" {
					into[n] = t
				}
			}
		}
	}
	for _, s := range servers {
		put(o.tools, s.Tools)
		put(o.gone, s.Withdrawn)
	}
	o.list = sync.OnceValue(func() *list {
		defer o.rendered.Store(true)
		return o.render()
	})
	return o
}

// tool is the tool of a canonical name or a wire name. One that its server has no
// more is found as well: whoever has read of it is told by the call.
func (o *outlook) tool(name string) (Tool, bool) {
	t, ok := o.tools[name]
	if !ok {
		t, ok = o.gone[name]
	}
	return t, ok
}

// offers says whether a bridge tool is in the list.
func (o *outlook) offers(b bridge) bool { return slices.Contains(o.bridges, b) }

// narrow is servers as a principal sees them.
func narrow(servers []Server, who Principal) []Server {
	var own []Server
	for _, s := range servers {
		if !who.AllowsServer(s.Name) {
			continue
		}
		allowed := func(all []Tool) (tools []Tool) {
			for _, t := range all {
				if t.Exposure = who.Exposure(s.Name, t.Name, t.Exposure); t.Exposure.Searchable(exposure.Model) {
					tools = append(tools, t)
				}
			}
			return tools
		}
		s.Tools, s.Withdrawn = allowed(s.Tools), allowed(s.Withdrawn)
		own = append(own, s)
	}
	return own
}
