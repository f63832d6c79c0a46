package host

import (
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	front "github.com/collet-dev/collet/host/internal/front/mcp"
	"github.com/collet-dev/collet/host/internal/server"
)

// sight is the servers as the face last saw them. Nothing in it changes: every
// request asks for it, and only what has changed since is looked at again.
type sight struct {
	config  *config.Config
	parts   []part
	servers []front.Server // of the parts
}

// part is what a server was when it was looked at, and all that the face's view of
// it is made of.
type part struct {
	server         *server.Server
	set            *config.Server
	tools          []*catalog.Tool // never changed in place
	introduced     *server.Introduction
	state          server.State
	asked          bool // this host has been told of the tools
	down, starting bool
}

func lookAt(s *server.Server) part {
	set, status := s.Settings(), s.Status()
	tools, listed := s.Tools()
	return part{
		server: s, set: set, tools: tools, introduced: s.Introduction(), state: status.State, asked: listed,
		down:     !listed || status.Failure != nil && status.State != server.Degraded,
		starting: status.State == server.Starting || status.State == server.Idle && !listed,
	}
}

func (p part) same(q part) bool {
	return p.server == q.server && p.set == q.set && p.introduced == q.introduced && p.state == q.state && p.asked == q.asked &&
		p.down == q.down && p.starting == q.starting && len(p.tools) == len(q.tools) && (len(p.tools) == 0 || &p.tools[0] == &q.tools[0])
}

// Servers implements front.Host.
func (v view) Servers() []front.Server {
	hub := v.host.hub
	config, names := hub.Config(), hub.Names()
	parts := make([]part, 0, len(names))
	for _, n := range names {
		if s := hub.Server(n); s != nil {
			parts = append(parts, lookAt(s))
		}
	}
	last := v.sight.Load()
	if last != nil && last.config == config && slices.EqualFunc(last.parts, parts, part.same) {
		return last.servers
	}
	now := &sight{config: config, parts: parts}
	// After the look: a name that is given later is of another sight.
	wire := hub.WireNames()
	for _, p := range parts {
		now.servers = append(now.servers, seen(p, wire))
	}
	v.sight.Store(now)
	return now.servers
}

func seen(p part, wire func(*catalog.Tool) string) front.Server {
	out := front.Server{
		Name: p.server.Name(), Description: p.set.Description, Rules: p.set.Rules,
		State: string(p.state), Down: p.down, Starting: p.starting, Asked: p.asked,
	}
	if in := p.introduced; in != nil {
		out.Instructions, out.Methods, out.Capabilities = in.Instructions, in.Methods, in.Capabilities
	}
	shown := func(tools []*catalog.Tool) (shown []front.Tool) {
		for _, t := range tools {
			if e := p.set.Rules.Of(t.Name); e != Hidden {
				shown = append(shown, front.Tool{Tool: t, Wire: wire(t), Exposure: e})
			}
		}
		return shown
	}
	// A tool is withdrawn with a new list, which makes another part.
	out.Tools, out.Withdrawn = shown(p.tools), shown(append(p.server.AllWithdrawn(), p.server.Withheld()...))
	slices.SortFunc(out.Tools, func(a, b front.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}
