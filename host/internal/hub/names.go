package hub

import (
	"sync"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// names remembers which tool a name without prefix was given to, for as long as
// the host runs: whoever read about a tool under a name must never reach another
// one with it, even when the first was withdrawn.
type names struct {
	mu    sync.Mutex
	given map[string]string // canonical names by wire name
}

// WireNames returns how tools are spelled toward model clients, now. Without
// prefixes two tools can claim one name: then it belongs to the one that was
// shown with it first, and to neither when they came together. A tool without a
// name is spelled "".
func (h *Hub) WireNames() func(*catalog.Tool) string {
	v := h.now.Load()
	if v.config.Host.WireNames != "plain" {
		return func(t *catalog.Tool) string { return name.Wire(t.Server, t.Name) }
	}
	var all []string
	for _, n := range v.names {
		if s := v.servers[n]; s != nil {
			tools, _ := s.Tools()
			rules := s.Settings().Rules
			for _, t := range tools {
				if rules.Of(t.Name) != exposure.Hidden { // else it takes no name from one that is seen
					all = append(all, t.FullName())
				}
			}
		}
	}
	given := h.names.give(all)
	return func(t *catalog.Tool) string { return given[t.FullName()] }
}

// give returns the wire names of tools, by canonical name.
func (n *names) give(tools []string) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.given == nil {
		n.given = map[string]string{}
	}
	table := name.NewPlainTable(tools)
	wires := make(map[string]string, len(tools))
	for _, canonical := range tools {
		_, tool, _ := name.Split(canonical)
		wire := name.Plain(tool)
		if _, alone := table.Wire(canonical); alone && n.given[wire] == "" {
			n.given[wire] = canonical
		}
		if n.given[wire] == canonical {
			wires[canonical] = wire
		}
	}
	return wires
}
