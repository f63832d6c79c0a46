// Package hub holds all servers of a host: it starts those that are needed, side
// by side, routes a name to its server, and merges what they list. It knows
// nothing of who asks, and makes no calls.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Hub is the servers of a configuration that may change.
type Hub struct {
	env   server.Surroundings
	turns turns
	names names
	// schemas are those of the plugins' settings.
	schemas schema.Cache

	applying sync.Mutex // held while the view changes
	closed   bool
	leaving  sync.WaitGroup // the stops of servers that were removed
	now      atomic.Pointer[view]
}

// New returns a hub for every server of c. It starts nothing.
func New(c *config.Config, env server.Surroundings) *Hub {
	h := &Hub{env: env}
	h.env.Turn = h.turns.take
	h.env.Schemas = &h.schemas
	h.now.Store(newView(c, func(set *config.Server) *server.Server { return server.New(set, h.env) }))
	return h
}

// Config is the configuration as it is now. The caller does not change it.
func (h *Hub) Config() *config.Config { return h.now.Load().config }

// Names are the names of all configured servers, usable or not, sorted.
func (h *Hub) Names() []string { return h.now.Load().names }

// Server returns the enabled server of that name, or nil.
func (h *Hub) Server(n string) *server.Server { return h.now.Load().servers[n] }

// Broken returns why the entry of that name cannot be used.
func (h *Hub) Broken(n string) (config.Problem, bool) {
	p, ok := h.now.Load().broken[n]
	return p, ok
}

// Disabled returns where the server of that name is switched off.
func (h *Hub) Disabled(n string) (string, bool) {
	where, ok := h.now.Load().off[n]
	return where, ok
}

// Find returns the tool of that canonical name and its server. A server whose
// tools are not known yet is started; a start that fails is reported as that
// failure, never as not-found. The error is a *server.Failure.
func (h *Hub) Find(ctx context.Context, canonical string) (*catalog.Tool, *server.Server, error) {
	sn, tn, ok := name.Split(canonical)
	if !ok && h.now.Load().known(canonical) {
		return nil, nil, notFound("%s is a server; its tools are called %[1]s/TOOL", canonical)
	}
	if !ok {
		return nil, nil, notFound("no tool is called %q; a tool's name is SERVER/TOOL%s", canonical, h.suggestServer(canonical))
	}
	s, err := h.Enabled(sn)
	if err != nil {
		return nil, nil, err
	}
	tools, listed := s.Tools()
	if !listed {
		if err := s.Ready(ctx, 0); err != nil {
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
	for _, t := range s.Withheld() {
		if t.Name == tn && !hidden(t) {
			if s.Reconsider(); !slices.Contains(s.Withheld(), t) {
				return t, s, nil // somebody has accepted it meanwhile
			}
			return nil, s, withheld(s)
		}
	}
	var names []string
	for _, t := range tools {
		if !hidden(t) {
			names = append(names, t.Name)
		}
	}
	near := name.Near(tn, names, maxNear)
	for i, n := range near {
		near[i] = name.Join(sn, n) // as it can be copied to the next command
	}
	if w, ok := s.Withdrawn(tn); ok && !hidden(w.Tool) {
		return nil, s, notFound("%s", withdrawn(w, ask(near)))
	}
	return nil, s, notFound("no such tool%s%s", ask(near), trouble(s))
}

// trouble is the word of a server that may lack tools for now.
func trouble(s *server.Server) string {
	if st := s.Status(); st.State == server.Degraded && st.Failure != nil {
		return fmt.Sprintf("; %s is degraded, and may have it when it is not: %s", s.Name(), st.Failure.Message)
	}
	return ""
}

// withheld says why a tool that its server offers is not to be used.
func withheld(s *server.Server) *server.Failure {
	f := failure.New(failure.ConsentRequired, failure.NotSent,
		`the tool was rewritten by its server since it was accepted, and on_change = "block"; 'collet plugins trust %s' shows the change and accepts it`, s.Name())
	if _, _, fault := s.Approval(); fault != nil {
		f = failure.New(failure.ConsentRequired, failure.NotSent, `with on_change = "block" no tool is used whose acceptance is not known: %w`, fault)
	}
	f.Origin = failure.OriginHost
	return &server.Failure{Failure: *f}
}

// Reconsider has all servers hold their tools against the pins as they are now.
func (h *Hub) Reconsider() {
	for _, s := range h.now.Load().servers {
		s.Reconsider()
	}
}

// maxQuoted is how much of a withdrawn tool's description helps to find another.
const maxQuoted = 120

// withdrawn says what became of a tool, and what it was.
func withdrawn(w server.Withdrawal, instead string) string {
	text := "the server has it no more"
	if !w.At.IsZero() {
		text = "the server withdrew it at " + w.At.Format(time.TimeOnly)
	}
	if was, _, _ := strings.Cut(cmp.Or(strings.TrimSpace(w.Tool.Description), w.Tool.Title), "\n"); was != "" {
		if r := []rune(was); len(r) > maxQuoted {
			was = string(r[:maxQuoted]) + "..."
		}
		text += fmt.Sprintf("; it was %q", was)
	}
	return text + instead
}

// Enabled returns the server of that name; the error, a *server.Failure, says why
// there is none, or none that can be used.
func (h *Hub) Enabled(n string) (*server.Server, error) {
	v := h.now.Load()
	if s := v.servers[n]; s != nil {
		return s, nil
	}
	if p, ok := v.broken[n]; ok {
		f := notFound("%s", p.Error())
		f.Class, f.Misconfigured = failure.InvalidArguments, true
		return nil, f
	}
	if where, ok := v.off[n]; ok {
		return nil, notFound("the server is %s; set enabled = true to use it", where)
	}
	return nil, h.NoServer(n)
}

// NoServer is the failure of asking for a server that is not configured.
func (h *Hub) NoServer(n string) *server.Failure {
	return notFound("no server is called %s%s", n, h.suggestServer(n))
}

func (h *Hub) suggestServer(n string) string {
	names := h.Names()
	if len(names) == 0 {
		return "; no servers are configured"
	}
	return suggest(n, names)
}

// maxNear bounds how many similar names an error offers.
const maxNear = 3

func suggest(want string, have []string) string { return ask(name.Near(want, have, maxNear)) }

func ask(near []string) string {
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
		s := h.Server(n)
		if s == nil {
			continue
		}
		wg.Go(func() {
			bring := s.List
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

// Recall has all servers that have not been asked yet take over what they offered
// an earlier host. It starts none.
func (h *Hub) Recall(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range h.now.Load().servers {
		wg.Go(func() { s.Recall(ctx) })
	}
	wg.Wait()
	h.recallNames()
}

// RecallThese is Recall for the named servers. It returns those whose tools, for want
// of anything newer, are what they offered an earlier host since the given time.
func (h *Hub) RecallThese(ctx context.Context, names []string, since time.Time) map[string]bool {
	var wg sync.WaitGroup
	var mu sync.Mutex
	recalled := map[string]bool{}
	for _, n := range names {
		if s := h.Server(n); s != nil {
			wg.Go(func() {
				s.Recall(ctx)
				if asked, _, ok := s.Recalled(); ok && asked.After(since) {
					mu.Lock()
					defer mu.Unlock()
					recalled[n] = true
				}
			})
		}
	}
	wg.Wait()
	return recalled
}

// Close stops all servers side by side, so that one that will not stop delays no
// other. It is bounded by ctx.
func (h *Hub) Close(ctx context.Context) error {
	h.applying.Lock()
	h.closed = true
	h.applying.Unlock()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, s := range h.now.Load().servers {
		wg.Go(func() {
			if err := s.Close(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("stop %s: %w", s.Name(), err))
			}
		})
	}
	wg.Wait()
	h.leaving.Wait()
	return errors.Join(errs...)
}
