package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/server"
)

// defaultWait is how long a list waits for servers that are still starting.
const defaultWait = 30 * time.Second

// The states of entries that have no server behind them.
const (
	stateDisabled      = "disabled"
	stateMisconfigured = "misconfigured"
)

// Servers are all configured servers as they are now, sorted by name. It starts
// nothing.
func (h *Host) Servers() []Server {
	var out []Server
	for _, n := range h.hub.Names() {
		out = append(out, h.server(n))
	}
	return out
}

func (h *Host) server(n string) Server {
	if p, ok := h.hub.Broken(n); ok {
		return Server{Name: n, State: stateMisconfigured, Error: p.Error()}
	}
	if _, ok := h.hub.Disabled(n); ok {
		return Server{Name: n, State: stateDisabled, Plugin: pluginOf(h, n)}
	}
	s := h.hub.Server(n)
	st := s.Status()
	out := Server{
		Name: n, State: string(st.State), Plugin: s.Plugin(), Failure: ofServer(n, st.Failure),
		Version: st.Version, Pid: st.Pid, LogFile: s.LogFile(),
	}
	if st.Failure != nil {
		out.Error = st.Failure.Error()
	}
	return out
}

func pluginOf(h *Host, n string) string {
	if set := h.config.Server(n); set != nil {
		return server.PluginName(set)
	}
	return ""
}

// Tools starts the enabled servers that q.Pattern can match, side by side, waits
// until they have listed their tools or q.Wait is over, and returns what is there.
// A server whose tools are missing says why in its Error. The error is a
// canceled ctx.
func (h *Host) Tools(ctx context.Context, q Query) (*Listing, error) {
	names := h.matching(q.Pattern)
	wait, cancel := context.WithTimeout(ctx, cmp.Or(q.Wait, defaultWait))
	defer cancel()
	fails := h.hub.Ready(wait, names, q.Refresh)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	list := &Listing{}
	for _, n := range names {
		info := h.server(n)
		if f := fails[n]; f != nil {
			info.Error, info.Failure = f.Error(), ofServer(n, f)
			if info.State == string(server.Starting) {
				info.Error = fmt.Sprintf("still starting after %s; wait longer with --wait, or see collet servers logs %s", cmp.Or(q.Wait, defaultWait), n)
			}
		}
		if s := h.hub.Server(n); s != nil && fails[n] == nil {
			tools, _ := s.Tools()
			for _, t := range tools {
				if shown := h.tool(s, t); q.selects(shown) {
					list.Tools = append(list.Tools, shown)
				}
			}
		}
		list.Servers = append(list.Servers, info)
	}
	slices.SortFunc(list.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// matching are the configured servers that a tool matching pattern can belong
// to, disabled ones left out unless they are named.
func (h *Host) matching(pattern string) []string {
	sp, _, tools := strings.Cut(pattern, "/")
	var out []string
	for _, n := range h.hub.Names() {
		_, off := h.hub.Disabled(n)
		switch {
		case pattern == "" || !tools && strings.ContainsAny(pattern, "*?") && !name.Match(pattern, n):
			// Without a slash a glob may match in either part of a name.
			if off {
				continue
			}
		case !name.Match(sp, n):
			continue
		}
		out = append(out, n)
	}
	return out
}

func (q Query) selects(t Tool) bool {
	if q.Exposure == "" && t.Exposure == Hidden || q.Exposure != "" && t.Exposure != q.Exposure {
		return false
	}
	return q.Pattern == "" || q.Pattern == t.Server || name.Match(q.Pattern, t.Name) || !strings.Contains(q.Pattern, "/") && name.Match(q.Pattern, t.Server)
}

// Tool returns the tool of that canonical name, starting its server if its tools
// are not known yet. The error is a *Failure, not-found with similar names in its
// message when there is no such tool.
func (h *Host) Tool(ctx context.Context, canonical string) (*Tool, error) {
	t, s, err := h.hub.Find(ctx, canonical)
	if err != nil {
		sn, tn, _ := name.Split(canonical)
		f := ofServer(sn, server.AsFailure(err))
		f.Tool = tn
		return nil, f
	}
	shown := h.tool(s, t)
	return &shown, nil
}

func (h *Host) tool(s *server.Server, t *catalog.Tool) Tool {
	wire := name.Wire(t.Server, t.Name)
	if h.config.Host.WireNames == "plain" {
		wire = name.Plain(t.Name)
	}
	return Tool{
		Name: t.FullName(), WireName: wire, Server: t.Server,
		Title: t.Title, Description: t.Description,
		Exposure: s.Settings().Rules.Of(t.Name), ReadOnly: t.ReadOnly(), Unchecked: t.Unchecked(),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Definition: t.Definition,
	}
}
