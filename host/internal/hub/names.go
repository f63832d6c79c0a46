package hub

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/snapshot"
)

// names remembers which tool a name without prefix was given to, for as long as
// the host runs, and as far as it is kept in the next one: whoever read about a tool
// under a name must never reach another one with it, even when the first was
// withdrawn.
type names struct {
	mu    sync.Mutex
	given map[string]string // canonical names by wire name

	keeping sync.Mutex // held while they are written
	recall  bool       // they are those of an earlier host, and of the next
	kept    map[string]string
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
	given := h.names.give(v.visible())
	h.keepNames(given)
	return func(t *catalog.Tool) string { return given[t.FullName()] }
}

// visible are the canonical names of the tools that are known. A hidden one takes
// no name from one that is seen.
func (v *view) visible() []string {
	var all []string
	for _, n := range v.names {
		if s := v.servers[n]; s != nil {
			tools, _ := s.Tools()
			rules := s.Settings().Rules
			for _, t := range tools {
				if rules.Of(t.Name) != exposure.Hidden {
					all = append(all, t.FullName())
				}
			}
		}
	}
	return all
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

// seed gives names to the tools that an earlier host gave them to, of those that
// are known; wires is what give returned then.
func (n *names) seed(wires map[string]string, known []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.given == nil {
		n.given = map[string]string{}
	}
	for _, canonical := range known {
		_, tool, _ := name.Split(canonical)
		if wire := name.Plain(tool); wires[canonical] == wire && n.given[wire] == "" {
			n.given[wire] = canonical
		}
	}
}

// namesKey is what names without prefix are kept under: those of one configuration.
func (h *Hub) namesKey() snapshot.Key {
	return snapshot.Key{Server: "names", Place: "names of " + strings.Join(h.Config().Files, "\x00")}
}

// recallNames takes over which tools had names without prefix, once what their
// servers offered has been recalled, and has changes kept from now on.
func (h *Hub) recallNames() {
	store := h.env.Snapshots
	if store == nil || h.Config().Host.WireNames != "plain" {
		return
	}
	h.names.keeping.Lock()
	defer h.names.keeping.Unlock()
	if h.names.recall {
		return
	}
	h.names.recall = true
	snap, err := store.Read(h.namesKey())
	if err != nil {
		h.env.Log.Debug("which tools had names without prefix cannot be recalled", "error", err)
	}
	var wires map[string]string
	if snap != nil && json.Unmarshal(snap.Info, &wires) == nil {
		h.names.seed(wires, h.now.Load().visible())
	}
}

func (h *Hub) keepNames(wires map[string]string) {
	h.names.keeping.Lock()
	defer h.names.keeping.Unlock()
	if !h.names.recall || maps.Equal(h.names.kept, wires) {
		return
	}
	h.names.kept = wires
	raw, err := json.Marshal(wires)
	if err == nil {
		err = h.env.Snapshots.Keep(h.namesKey(), &snapshot.Snapshot{Info: raw})
	}
	if err != nil {
		h.env.Log.Warn("which tools have names without prefix cannot be kept for the next start", "error", err)
	}
}
