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
	if s == nil { // the configuration changed a moment ago
		return Server{Name: n, State: string(server.Stopped), Error: "it was removed from the configuration"}
	}
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

// ServerInfo is what the upstream of a server last said of itself under its
// present settings, also while it is down; nil before it said anything. It starts
// nothing. The caller does not change it.
func (h *Host) ServerInfo(name string) *ServerInfo {
	if s := h.hub.Server(name); s != nil {
		return s.Introduction()
	}
	return nil
}

func pluginOf(h *Host, n string) string {
	if set := h.hub.Config().Server(n); set != nil {
		return server.PluginName(set)
	}
	return ""
}

// Tools starts the enabled servers that q.Pattern can match, side by side, waits
// until they have listed their tools or q.Wait is over, and returns what is there.
// A server whose tools are missing, or are those of an earlier list because they
// could not be had again, says why in its Error. The error is a
// canceled ctx, or a *Failure, not-found, when q.Pattern can match no server.
func (h *Host) Tools(ctx context.Context, q Query) (*Listing, error) {
	names, fail := h.matching(q.Pattern)
	if fail != nil {
		return nil, fail
	}
	begun := time.Now()
	wait, cancel := context.WithTimeout(ctx, cmp.Or(q.Wait, defaultWait))
	defer cancel()
	fails := h.hub.Ready(wait, h.unknown(wait, names, q), q.Refresh)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	list := &Listing{}
	spell := h.spellings()
	for _, n := range names {
		info := h.server(n)
		f := fails[n]
		if f != nil && info.Pid != 0 && !q.Refresh {
			f = nil // it was ready a moment after the wait was over
		}
		var tools []*catalog.Tool
		s := h.hub.Server(n)
		if s != nil && info.State != string(server.Stopped) {
			tools, _ = s.Tools()
			if q.Withheld {
				tools = slices.Concat(tools, s.Withheld())
			}
		}
		switch {
		case f != nil:
			info.Error, info.Failure = f.Error(), ofServer(n, f)
			if info.State == string(server.Starting) {
				info.Error = fmt.Sprintf("still starting after %s; wait longer with --wait", time.Since(begun).Round(100*time.Millisecond))
				if s != nil && s.Settings().URL == "" { // else it says nothing here
					info.Error += ", or see collet servers logs " + n
				}
			}
			if len(tools) > 0 {
				info.Error += "; its tools are those of its last list"
				info.Asked, _, _ = s.Recalled()
			}
		case s != nil:
			info.Error = "" // its upstream may be in trouble, but its tools are here
			h.recalled(&info, s)
		}
		for _, t := range tools {
			if shown := h.tool(s, t, spell); q.selects(shown) {
				shown.Stale = !info.Asked.IsZero()
				if q.Judge {
					shown.Unchecked()
				}
				list.Tools = append(list.Tools, shown)
			}
		}
		list.Servers = append(list.Servers, info)
	}
	slices.SortFunc(list.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// recallLimit is the age of a list that is not answered with any more: a server that
// nobody asked for a day is worth the wait.
const recallLimit = 24 * time.Hour

// unknown are the servers that have to be asked for an answer to q.
func (h *Host) unknown(ctx context.Context, names []string, q Query) []string {
	if !q.Recall || q.Refresh {
		return names
	}
	recalled := h.hub.RecallThese(ctx, names, time.Now().Add(-recallLimit))
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return recalled[n] })
}

// recalled says of a server whose tools are those of an earlier host when that
// asked it, and what is known to be wrong with it since.
func (h *Host) recalled(info *Server, s *server.Server) {
	asked, trouble, ok := s.Recalled()
	if !ok {
		return
	}
	info.Asked = asked
	const last = "; its tools are those of its last list"
	switch {
	case info.Failure != nil: // this host has tried
		info.Error = info.Failure.Error() + last
	case trouble != nil:
		info.Failure = ofServer(info.Name, trouble.Failure)
		info.Error = fmt.Sprintf("it did not start %s ago: %v%s", Age(trouble.At), trouble.Failure, last)
	}
}

// Age is how long ago that was, for a person: 40s, 12m, 3h.
func Age(t time.Time) string {
	switch d := max(time.Since(t), time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
}

// Known returns the tool of that canonical name without starting anything, if what
// its server offers is known to this host or was, within the last day, to an earlier
// one; nil if it is not. asked is as Server.Asked.
func (h *Host) Known(ctx context.Context, canonical string) (t *Tool, asked time.Time) {
	sn, tn, ok := name.Split(canonical)
	s := h.hub.Server(sn)
	if !ok || s == nil {
		return nil, time.Time{}
	}
	h.hub.RecallThese(ctx, []string{sn}, time.Time{})
	if at, _, ok := s.Recalled(); ok {
		if time.Since(at) > recallLimit {
			return nil, time.Time{}
		}
		asked = at
	}
	tools, _ := s.Tools()
	i := slices.IndexFunc(tools, func(t *catalog.Tool) bool { return t.Name == tn })
	if i < 0 || s.Settings().Rules.Of(tn) == Hidden {
		return nil, time.Time{} // the server may have got it since
	}
	shown := h.tool(s, tools[i], h.spellings())
	shown.Stale = !asked.IsZero()
	return &shown, asked
}

// matching are the configured servers that pattern names, the disabled ones
// only when there is a pattern.
func (h *Host) matching(pattern string) ([]string, *Failure) {
	if pattern == "" {
		var all []string
		for _, n := range h.hub.Names() {
			if _, off := h.hub.Disabled(n); !off {
				all = append(all, n)
			}
		}
		return all, nil
	}
	servers, _, _ := strings.Cut(pattern, "/")
	var out []string
	for _, n := range h.hub.Names() {
		if name.Match(servers, n) {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, ofServer("", h.hub.NoServer(servers))
	}
	return out, nil
}

// selects reports whether q keeps a tool of a server that its pattern names.
func (q Query) selects(t Tool) bool {
	if q.Exposure == "" && t.Exposure == Hidden || q.Exposure != "" && t.Exposure != q.Exposure {
		return false
	}
	_, tools, said := strings.Cut(q.Pattern, "/")
	_, tool, _ := name.Split(t.Name)
	return !said || name.Match(tools, tool)
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
	shown := h.tool(s, t, h.spellings())
	return &shown, nil
}

// spellings are how tools are spelled, now: toward model clients, and in scripts.
type spellings struct {
	wire       func(*catalog.Tool) string
	identifier func(*catalog.Tool) (server, tool string)
}

func (h *Host) spellings() spellings { return spellings{h.hub.WireNames(), h.hub.Identifiers()} }

func (h *Host) tool(s *server.Server, t *catalog.Tool, spell spellings) Tool {
	serverIdentifier, identifier := spell.identifier(t)
	consent, _ := s.Settings().ConsentFor(t.Name, t.AsksConsent)
	return Tool{
		Name: t.FullName(), WireName: spell.wire(t), Server: t.Server,
		Title: t.Title, Description: t.Description,
		Exposure: s.Settings().Rules.Of(t.Name), ReadOnly: t.ReadOnly(), Consent: consent, unchecked: t.Unchecked, verdict: t.Verdict,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Definition: t.Definition,
		Rewritten: s.Rewritten(t.Name), Withheld: s.IsWithheld(t.Name),
		serverIdentifier: serverIdentifier, identifier: identifier,
	}
}
