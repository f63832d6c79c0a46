package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/server"
)

// Plugin is one plugin file, or one that a server wants and there is not.
type Plugin struct {
	Name    string   // as mcp.toml names it, "mcp" for the generic one: a name, or a path
	Path    string   // of the file; empty when it was not found
	Servers []string // that it serves, sorted; none for one that only lies there
	Hooks   []string // that it is, sorted
	Error   string   // why it cannot be used

	State  PinState
	SHA256 string   // of the file as it is, in hex; empty for one that is shipped or not used
	Pins   []string // the digests that were accepted for this platform
	Lock   string   // the mcp.lock that pins it; empty likewise
	Target string   // where Path leads, if it is a link
	// Writers says who besides the user may change the file, or a directory that it is
	// in, and what to do about it; empty when nobody may.
	Writers string

	// Where it was installed from, and who attested it, for AcceptPlugin to write down.
	// Plugins does not know it.
	Source, Version, Signer string

	use pins.Use
}

// PinState is how a plugin file stands to its pin.
type PinState = pins.State

// The states of plugin files. That of a file that no server uses is empty.
const (
	PluginShipped  = pins.Shipped
	PluginPinned   = pins.Pinned
	PluginUnpinned = pins.Unpinned
	PluginChanged  = pins.Changed
)

// Plugins are the plugins of the enabled servers, and those that lie in the
// directories where plugins are looked for, sorted by name. It starts nothing and
// pins nothing. The error is that ctx ended.
func (h *Host) Plugins(ctx context.Context) ([]Plugin, error) {
	found := map[[3]string]*Plugin{} // by name, path and mcp.lock
	var mu sync.Mutex
	var wg sync.WaitGroup
	used := map[string]bool{}
	for _, n := range h.hub.Names() {
		s := h.hub.Server(n)
		if s == nil {
			continue
		}
		wg.Go(func() {
			p := h.plugin(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			used[p.Path] = true
			key := [3]string{p.Name, p.Path, p.Lock}
			if found[key] == nil {
				found[key] = &p
			}
			found[key].Servers = append(found[key].Servers, n)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, set := range h.hub.Config().Hooks {
		if !set.Enabled {
			continue
		}
		p := Plugin{Name: set.Plugin}
		if path, err := h.hookFile(ctx, set); err != nil {
			p.Error = err.Error()
		} else {
			h.stand(&p, hookUse(set, path))
		}
		used[p.Path] = true
		key := [3]string{p.Name, p.Path, p.Lock}
		if found[key] == nil {
			found[key] = &p
		}
		found[key].Hooks = append(found[key].Hooks, set.Name)
	}
	for name, path := range h.plugins.now.Load().All() {
		if !used[path] {
			found[[3]string{name, path}] = &Plugin{Name: name, Path: path}
		}
	}
	out := make([]Plugin, 0, len(found))
	for _, p := range found {
		slices.Sort(p.Servers)
		if p.Path != "" {
			if why, advice := plugins.Writers(p.Path); why != "" {
				p.Writers = why + "; " + advice
			}
		}
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Plugin) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Lock, b.Lock))
	})
	return out, nil
}

// plugin looks at the plugin of one server.
func (h *Host) plugin(ctx context.Context, s *server.Server) Plugin {
	p := Plugin{Name: s.Plugin()}
	path, err := s.PluginFile(ctx)
	if err != nil {
		p.Error = server.AsFailure(err).Message
		return p
	}
	h.stand(&p, server.PluginUse(s.Settings(), path))
	return p
}

// stand looks how a plugin's file stands.
func (h *Host) stand(p *Plugin, use pins.Use) {
	p.Path, p.use = use.Path, use
	standing, err := h.pins.Standing(p.use)
	p.State, p.SHA256, p.Pins, p.Lock, p.Target = standing.State, standing.SHA256, standing.Pins, standing.Lock, standing.Target
	if err != nil {
		p.Error = err.Error()
	}
}

// InstalledPlugins is the directory of the plugins that the user has installed.
func InstalledPlugins() string { return filepath.Join(xdg.DataHome, "collet", "plugins") }

// PluginCopies is where the copies of plugins are that are executed, each in a directory
// named by its SHA-256.
func PluginCopies() string { return copiesIn(filepath.Join(xdg.CacheHome, "collet")) }

func copiesIn(cache string) string { return filepath.Join(cache, "pinned") }

// newKeeper is the keeper of a host with these options.
func newKeeper(opt Options) *pins.Keeper {
	k := &pins.Keeper{StateDir: opt.StateDir, Copies: &pins.Copies{Dir: copiesIn(opt.CacheDir)}, Frozen: opt.FrozenPins, Installed: InstalledPlugins()}
	k.Trusted = append(k.Trusted, opt.PluginDirs...)
	if exe, err := os.Executable(); err == nil {
		k.Trusted = append(k.Trusted, filepath.Dir(exe))
	}
	return k
}
