package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
)

// Reload takes over what changed in the configuration. A host that was opened
// with ConfigFiles reads them again; any other gets the layers there are now. A server
// whose connection settings changed is restarted: its calls in flight may go on
// for 10 s, and it starts at once if it was running. A server that is gone or
// faulty now is stopped, a new one is idle until it is needed. Everything else
// (exposure, timeouts, retry, limits) restarts nothing and counts from the next
// call on. Reload does not wait for starts and stops; Subscribe tells of them.
//
// The error is a file that cannot be read or is no TOML; then nothing changes.
func (h *Host) Reload(ctx context.Context, layers []Layer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	layers, err := Options{ConfigFiles: h.opt.ConfigFiles, Layers: layers}.sources()
	if err != nil {
		return err
	}
	c := config.Merge(layers)
	for _, p := range c.Problems {
		// At start such a file is left out; an editor's half-written one must not
		// stop every server that runs.
		if p.Server == "" && p.Key == "" {
			return fmt.Errorf("keeping the configuration there is: %w", p)
		}
	}
	h.apply(c)
	return nil
}

// apply puts a configuration in the place of the present one.
func (h *Host) apply(c *config.Config) {
	h.adopt(c)
	if c.Host.Telemetry != h.hub.Config().Host.Telemetry {
		h.opt.Log.Warn("[host.telemetry] has changed: that counts when collet is started again")
	}
	before := h.hooks.Edition()
	c = h.hooks.settle(context.Background(), c)
	h.hub.Apply(c)
	if h.hooks.Edition() != before {
		h.hub.Edit()
	}
	h.events.emit(Event{ConfigChanged: &ConfigEvent{Problems: c.Problems}})
}

// adopt takes over the parts of a configuration that are no server's.
func (h *Host) adopt(c *config.Config) {
	if h.opt.LogLevel != nil && c.Host.LogLevel != "" {
		// config knows the words that slog knows.
		_ = h.opt.LogLevel.UnmarshalText([]byte(c.Host.LogLevel))
	}
	dirs, problems := c.Host.ResolvePluginDirs(h.values)
	c.Problems = append(c.Problems, problems...)
	h.plugins.look(append(h.opt.PluginDirs[:len(h.opt.PluginDirs):len(h.opt.PluginDirs)], dirs...))
}

// pluginFinder looks plugins up in the directories of the configuration as it is
// now.
type pluginFinder struct {
	now atomic.Pointer[plugins.Finder]
}

// look makes it look in dirs first: the caller's and those of mcp.toml; then in
// the one of the running binary, and in the user's own.
func (f *pluginFinder) look(dirs []string) {
	if exe, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(exe))
	}
	dirs = append(dirs, InstalledPlugins())
	f.now.Store(&plugins.Finder{Dirs: dirs})
}

// Find implements server.Finder.
func (f *pluginFinder) Find(name, dir string) (string, error) { return f.now.Load().Find(name, dir) }
