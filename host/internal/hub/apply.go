package hub

import (
	"context"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/server"
)

// removeWait bounds the stop of a server that the configuration holds no more.
const removeWait = 15 * time.Second

// Apply puts another configuration in the place of the present one. Servers that
// it does not change go on as they are; one with another way to reach it is
// restarted, one it no longer holds is stopped, a new one is idle until it is
// needed. Apply starts and stops these in the background and waits for none. It
// does nothing once the hub is closed.
func (h *Hub) Apply(c *config.Config) {
	h.applying.Lock()
	defer h.applying.Unlock()
	if h.closed {
		return
	}
	before := h.now.Load()
	var added []string
	kept := map[string]*config.Server{}
	after := newView(c, func(set *config.Server) *server.Server {
		if s := before.servers[set.Name]; s != nil {
			kept[set.Name] = set
			return s
		}
		added = append(added, set.Name)
		return server.New(set, h.env)
	})
	h.now.Store(after)
	for n, s := range before.servers {
		if set := kept[n]; set != nil {
			old := s.Settings()
			s.Apply(set)
			if before.config.Host.WireNames != c.Host.WireNames || !sameRules(old.Rules, set.Rules) || old.OnChange != set.OnChange {
				h.relisted(s)
			}
		} else {
			h.leaving.Go(func() { h.remove(s) })
		}
	}
	for _, n := range added {
		if h.env.Changed != nil {
			h.env.Changed(n, server.Status{State: server.Idle})
		}
	}
}

// editWait bounds asking a server for its tools again.
const editWait = 30 * time.Second

// Edit has the lists of all servers edited again, in the background.
func (h *Hub) Edit() {
	h.applying.Lock()
	defer h.applying.Unlock()
	if h.closed {
		return
	}
	for _, s := range h.now.Load().servers {
		h.leaving.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), editWait)
			defer cancel()
			if err := s.Edit(ctx); err != nil {
				h.env.Log.Warn("the tools are as other hooks have edited them until they are listed again", "server", s.Name(), "error", err)
			}
		})
	}
}

// remove stops a server for good.
func (h *Hub) remove(s *server.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	if err := s.Remove(ctx); err != nil {
		h.env.Log.Warn("a server that was removed cannot be stopped", "server", s.Name(), "error", err)
	}
	h.relisted(s)
}

// relisted tells that what is seen of a server's tools is something else.
func (h *Hub) relisted(s *server.Server) {
	if _, listed := s.Tools(); listed && h.env.Listed != nil {
		h.env.Listed(s.Name())
	}
}

func sameRules(a, b exposure.Rules) bool {
	return a.Default == b.Default && slices.Equal(a.Tools, b.Tools)
}
