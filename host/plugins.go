package host

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/collet-dev/collet/host/internal/server"
)

// Plugin is one plugin file, or one that a server wants and there is not.
type Plugin struct {
	Name    string   // as mcp.toml names it, "mcp" for the generic one: a name, or a path
	Path    string   // of the file; empty when it was not found
	Servers []string // that it serves, sorted
	Error   string   // why it cannot be used
}

// Plugins are the plugins of the enabled servers, and those that lie in the
// directories where plugins are looked for, sorted by name. It starts nothing. The
// error is that ctx ended.
func (h *Host) Plugins(ctx context.Context) ([]Plugin, error) {
	found := map[[2]string]*Plugin{} // by name and path
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, n := range h.hub.Names() {
		s := h.hub.Server(n)
		if s == nil {
			continue
		}
		wg.Go(func() {
			path, err := s.PluginFile(ctx)
			mu.Lock()
			defer mu.Unlock()
			p := plugin(found, s.Plugin(), path)
			p.Servers = append(p.Servers, n)
			if err != nil {
				p.Error = server.AsFailure(err).Message
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for name, path := range h.plugins.now.Load().All() {
		plugin(found, name, path)
	}
	out := make([]Plugin, 0, len(found))
	for _, p := range found {
		slices.Sort(p.Servers)
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Plugin) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return out, nil
}

func plugin(found map[[2]string]*Plugin, name, path string) *Plugin {
	key := [2]string{name, path}
	if found[key] == nil {
		found[key] = &Plugin{Name: name, Path: path}
	}
	return found[key]
}
