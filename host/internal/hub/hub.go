// Package hub holds all servers of a host: it starts those that are needed, side
// by side, routes a name to its server, and merges what they list. It knows
// nothing of who asks, and makes no calls.
package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Hub is the servers of one configuration.
type Hub struct {
	servers map[string]*server.Server
	off     map[string]string         // disabled servers, by name: how to enable them
	broken  map[string]config.Problem // entries that cannot be used, by name: the first fault
	names   []string                  // of all three, sorted
}

// New returns a hub for every server of c. It starts nothing.
func New(c *config.Config, env server.Surroundings) *Hub {
	h := &Hub{
		servers: map[string]*server.Server{},
		off:     map[string]string{},
		broken:  map[string]config.Problem{},
	}
	for _, s := range c.Servers {
		if s.Enabled {
			h.servers[s.Name] = server.New(s, env)
		} else {
			h.off[s.Name] = fmt.Sprintf("disabled in %s", s.Switch())
		}
		h.names = append(h.names, s.Name)
	}
	for _, p := range c.Problems {
		if p.Server == "" || h.known(p.Server) {
			continue
		}
		h.broken[p.Server] = p
		h.names = append(h.names, p.Server)
	}
	slices.Sort(h.names)
	return h
}

func (h *Hub) known(n string) bool {
	_, off := h.off[n]
	_, broken := h.broken[n]
	return h.servers[n] != nil || off || broken
}

// Names are the names of all configured servers, usable or not, sorted.
func (h *Hub) Names() []string { return h.names }

// Server returns the enabled server of that name, or nil.
func (h *Hub) Server(n string) *server.Server { return h.servers[n] }

// Broken returns why the entry of that name cannot be used.
func (h *Hub) Broken(n string) (config.Problem, bool) {
	p, ok := h.broken[n]
	return p, ok
}

// Disabled returns where the server of that name is switched off.
func (h *Hub) Disabled(n string) (string, bool) {
	where, ok := h.off[n]
	return where, ok
}

// Find returns the tool of that canonical name and its server. A server whose
// tools are not known yet is started; a start that fails is reported as that
// failure, never as not-found. The error is a *server.Failure.
func (h *Hub) Find(ctx context.Context, canonical string) (*catalog.Tool, *server.Server, error) {
	sn, tn, ok := name.Split(canonical)
	if !ok && h.known(canonical) {
		return nil, nil, notFound("%s is a server; its tools are called %[1]s/TOOL", canonical)
	}
	if !ok {
		return nil, nil, notFound("no tool is called %q; a tool's name is SERVER/TOOL%s", canonical, h.suggestServer(canonical))
	}
	s, err := h.find(sn)
	if err != nil {
		return nil, nil, err
	}
	tools, listed := s.Tools()
	if !listed {
		if err := s.Ready(ctx); err != nil {
			return nil, s, err
		}
		tools, _ = s.Tools()
	}
	// A hidden tool is answered exactly as one that does not exist.
	hidden := func(t *catalog.Tool) bool { return s.Settings().Rules.Of(t.Name) == exposure.Hidden }
	for _, t := range tools {
		if t.Name == tn && !hidden(t) {
			return t, s, nil
		}
	}
	var names []string
	for _, t := range tools {
		if !hidden(t) {
			names = append(names, t.Name)
		}
	}
	return nil, s, notFound("no such tool%s", suggest(tn, names))
}

func (h *Hub) find(n string) (*server.Server, error) {
	if s := h.servers[n]; s != nil {
		return s, nil
	}
	if p, ok := h.broken[n]; ok {
		f := notFound("%s", p.Error())
		f.Class, f.Misconfigured = failure.InvalidArguments, true
		return nil, f
	}
	if where, ok := h.off[n]; ok {
		return nil, notFound("the server is %s; set enabled = true to use it", where)
	}
	return nil, h.NoServer(n)
}

// NoServer is the failure of asking for a server that is not configured.
func (h *Hub) NoServer(n string) *server.Failure {
	return notFound("no server is called %s%s", n, h.suggestServer(n))
}

func (h *Hub) suggestServer(n string) string {
	if len(h.names) == 0 {
		return "; no servers are configured"
	}
	return suggest(n, h.names)
}

// maxNear bounds how many similar names an error offers.
const maxNear = 3

func suggest(want string, have []string) string {
	near := name.Near(want, have, maxNear)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

func notFound(format string, args ...any) *server.Failure {
	f := failure.New(failure.NotFound, failure.NotSent, format, args...)
	f.Origin = failure.OriginHost
	return &server.Failure{Failure: *f}
}

// Ready brings the named servers up side by side and returns, by name, why those
// that are not ready are not, when all have settled or ctx is done. With refresh,
// servers that run already are asked for their tools again.
func (h *Hub) Ready(ctx context.Context, names []string, refresh bool) map[string]*server.Failure {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fails = map[string]*server.Failure{}
	)
	for _, n := range names {
		s := h.servers[n]
		if s == nil {
			continue
		}
		wg.Go(func() {
			bring := s.Ready
			if refresh {
				bring = s.Refresh
			}
			if err := bring(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				fails[n] = server.AsFailure(err)
			}
		})
	}
	wg.Wait()
	return fails
}

// Close stops all servers side by side, so that one that will not stop delays no
// other. It is bounded by ctx.
func (h *Hub) Close(ctx context.Context) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, s := range h.servers {
		wg.Go(func() {
			if err := s.Close(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("stop %s: %w", s.Name(), err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
