package server

import (
	"context"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// relistWait bounds asking for the tools again after the adapter announced a
// change.
const relistWait = 30 * time.Second

// relist takes over the adapter's list of tools as it is now. When it cannot be
// had, the old one stays: the server itself checks calls anyway.
func (s *Server) relist(ctx context.Context, r *run) *Failure {
	select {
	case r.listing <- struct{}{}:
		defer func() { <-r.listing }()
	case <-ctx.Done():
		return waitFailure(ctx, "another list of its tools is still under way")
	}
	tools, fail := r.list(ctx)
	if fail != nil {
		return fail
	}
	s.mu.Lock()
	changed := s.run == r && s.adoptLocked(r, tools)
	s.mu.Unlock()
	if changed && s.env.Listed != nil {
		s.env.Listed(s.name)
	}
	return nil
}

// adoptLocked takes over a list and reports whether it differs from the one
// before. What did not change keeps its compiled schemas.
func (s *Server) adoptLocked(r *run, tools []*catalog.Tool) bool {
	before := make(map[string]*catalog.Tool, len(s.tools))
	for _, t := range s.tools {
		before[t.Name] = t
	}
	for i, t := range tools {
		old := before[t.Name]
		if old != nil && old.Equal(t) {
			tools[i] = old
		}
		delete(before, t.Name)
		s.withdrawn.returned(t.Name)
	}
	if s.listed || s.recalled { // else other settings have made them go, not the server
		var when time.Time
		if s.listed {
			when = time.Now()
		}
		for _, t := range before {
			s.withdrawn.add(t, when)
		}
	}
	changed, shown := !s.listed || !slices.Equal(s.tools, tools), s.usable
	s.tools, s.listed, s.recalled = tools, true, false
	s.approveLocked(r.approval)
	s.keepLocked(r)
	return changed || !slices.Equal(shown, s.usable)
}

// Refresh asks a running server for its tools again. A server that does not run
// is started, which lists as well. The error is a *Failure.
func (s *Server) Refresh(ctx context.Context) error {
	s.mu.Lock()
	r := s.run
	if r == nil || r.ending() {
		s.mu.Unlock()
		return s.Ready(ctx, 0)
	}
	r.calls++
	s.mu.Unlock()
	defer s.leaveRun(r)
	if fail := s.relist(ctx, r); fail != nil {
		return fail
	}
	return nil
}

// Edit has the list of tools edited again, because Edition is another: a server that
// runs is asked for its tools anew, of any other they are not known until it starts.
func (s *Server) Edit(ctx context.Context) error {
	s.mu.Lock()
	if s.run == nil && s.start == nil {
		s.listed, s.recalled, s.introduced = false, false, nil
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	// The list of a start that is under way may have met the editors of before.
	if err := s.Ready(ctx, 0); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// List sees to it that the tools are known. A server whose tools are known and
// that was stopped for lack of use is not started for that. The error is a
// *Failure.
func (s *Server) List(ctx context.Context) error {
	s.mu.Lock()
	known := s.listed && s.life.state == Idle
	s.mu.Unlock()
	if known {
		return nil
	}
	return s.Ready(ctx, 0)
}

// maxPages bounds a list: an adapter that never stops paging is broken.
const maxPages = 10_000

// list asks for every page of the tools.
func (r *run) list(ctx context.Context) ([]*catalog.Tool, *Failure) {
	var tools []*catalog.Tool
	seen := map[string]bool{}
	token := ""
	for range maxPages {
		resp, err := r.client.ListTools(ctx, &adapterpb.ListToolsRequest{PageToken: token})
		if err != nil {
			return nil, r.fail(ctx, err, false)
		}
		for _, t := range resp.GetTools() {
			if seen[t.GetName()] {
				r.server.env.Log.Warn("a tool is listed twice; the first one counts", "server", r.server.name, "tool", t.GetName())
				continue
			}
			seen[t.GetName()] = true
			tools = append(tools, catalog.New(r.server.name, catalog.Offer{
				Name: t.GetName(), Definition: t.GetDefinition(),
				ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
				AsksConsent: t.GetAsksConsent(), OutputSchema: t.GetOutputSchema(),
			}))
		}
		if token = resp.GetNextPageToken(); token == "" {
			return r.edited(ctx, tools)
		}
	}
	return nil, notSent(failure.InvalidResult, "the adapter's list of tools has more than %d pages", maxPages)
}

// ToolsEditor changes or hides definitions of tools.
type ToolsEditor interface {
	// EditTools returns a server's tools as they are to be. The error is a *Failure:
	// without an answer nobody may see them.
	EditTools(ctx context.Context, server string, tools []*catalog.Tool) ([]*catalog.Tool, error)
	// Edition tells editors apart that would answer otherwise; "" edits nothing.
	Edition() string
}

func (r *run) edited(ctx context.Context, tools []*catalog.Tool) ([]*catalog.Tool, *Failure) {
	if hooks := r.server.env.Tools; hooks != nil {
		var err error
		if tools, err = hooks.EditTools(ctx, r.server.name, tools); err != nil {
			return nil, AsFailure(err)
		}
	}
	r.approval = r.server.review(ctx, r.server.Settings(), tools, true)
	return tools, nil
}
