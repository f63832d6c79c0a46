package hub

import (
	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/name"
)

// Identifiers returns how scripts spell servers, and tools on their servers: see
// name.Identifiers. All configured servers count, and all tools of a server, so that
// no spelling depends on who may see what. It is how they are now, and for one
// goroutine.
func (h *Hub) Identifiers() func(*catalog.Tool) (server, tool string) {
	v := h.now.Load()
	servers := name.ServerIdentifiers(v.names)
	tools := map[string]map[string]string{}
	return func(t *catalog.Tool) (string, string) {
		ids := tools[t.Server]
		if ids == nil {
			var names []string
			if s := v.servers[t.Server]; s != nil {
				all, _ := s.Tools()
				for _, t := range all {
					names = append(names, t.Name)
				}
			}
			ids = name.Identifiers(t.Server, append(names, t.Name)) // it may have been withdrawn a moment ago
			tools[t.Server] = ids
		}
		if ids[t.Name] == "" {
			ids[t.Name] = name.Identifiers(t.Server, []string{t.Name})[t.Name]
		}
		return servers[t.Server], ids[t.Name]
	}
}
