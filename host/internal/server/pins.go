package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/sdk/failure"
)

// onChangeBlock is the on_change that withholds tools which were rewritten.
const onChangeBlock = "block"

// maxTold is how many of the tools that were rewritten the log names.
const maxTold = 10

// PluginUse is what of an entry decides which pin its plugin's file, at path, has.
func PluginUse(set *config.Server, path string) pins.Use {
	return pins.Use{Config: home(set), Plugin: PluginName(set), Path: path}
}

// admit is what to execute for the plugin at path.
func (s *Server) admit(ctx context.Context, set *config.Server, path string) (*pins.Executable, *Failure) {
	if s.env.Pins == nil {
		return &pins.Executable{Path: path, Run: path}, nil
	}
	x, err := s.env.Pins.Admit(ctx, PluginUse(set, path))
	if err == nil {
		return x, nil
	}
	if ctx.Err() != nil {
		return nil, waitFailure(ctx, "looking at its plugin's file")
	}
	f := notSent(failure.ConsentRequired, "%w", err)
	if !errors.As(err, new(*pins.ChangedError)) && !errors.As(err, new(*pins.UnpinnedError)) && !errors.As(err, new(*pins.UnusableError)) {
		f.Class = failure.ConnectionRefused
	}
	return nil, f
}

// swapped is the failure of a plugin that is no longer what was looked at, although
// it may be what runs; nil for a copy, which cannot be.
func swapped(x *pins.Executable) *Failure {
	if err := x.Swapped(); err != nil {
		return notSent(failure.ConsentRequired, "%w", err)
	}
	return nil
}

// approval is how a list of tools stands to what was accepted.
type approval struct {
	digests   map[string]string // of the definitions, by the tools' names
	rewritten map[string]bool   // tools that are not what was accepted
	fault     error             // the pins cannot be read: nothing is known to be as accepted
}

// review holds tools against what was accepted, and with remember accepts those that
// were never seen before.
func (s *Server) review(ctx context.Context, set *config.Server, tools []*catalog.Tool, remember bool) *approval {
	if s.env.Pins == nil {
		return nil
	}
	a := &approval{digests: pins.Digests(func(yield func(pins.Definition) bool) {
		for _, t := range tools {
			if !yield(pins.Definition{Name: t.Name, JSON: t.Definition}) {
				return
			}
		}
	})}
	found := s.compare(set, a)
	if a.fault != nil || !remember || len(found.New) == 0 {
		return a
	}
	fresh := make(map[string]string, len(found.New))
	for _, name := range found.New {
		fresh[name] = a.digests[name]
	}
	refused, err := s.env.Pins.Remember(ctx, home(set), s.name, fresh)
	if err != nil {
		s.env.Log.Warn("new tools are not remembered, so that later changes of them will not be noticed", "server", s.name, "error", err)
	}
	for _, name := range refused {
		a.rewritten[name] = true
	}
	if err == nil {
		texts := map[string]json.RawMessage{}
		for _, t := range tools {
			if _, ok := fresh[t.Name]; ok && !a.rewritten[t.Name] {
				texts[t.Name] = t.Definition
			}
		}
		s.env.Pins.KeepTexts(home(set), s.name, texts)
	}
	return a
}

// compare finds out again what was rewritten, by the pins as they are now.
func (s *Server) compare(set *config.Server, a *approval) pins.Review {
	found, err := s.env.Pins.Review(home(set), s.name, a.digests)
	a.fault, a.rewritten = err, map[string]bool{}
	for _, name := range found.Changed {
		a.rewritten[name] = true
	}
	return found
}

// approveLocked takes over how the tools stand. Those that are rewritten now and
// were not before are told of.
func (s *Server) approveLocked(a *approval) {
	before := s.approval
	s.approval = a
	s.siftLocked()
	if a == nil {
		return
	}
	if a.fault != nil {
		s.env.Log.Warn("whether tools were rewritten is not known", "server", s.name, "error", a.fault)
	}
	var news []string
	for name := range a.rewritten {
		if before == nil || !before.rewritten[name] {
			news = append(news, name)
		}
	}
	if slices.Sort(news); len(news) > 0 {
		s.env.Log.Warn("tools were rewritten since they were accepted; 'collet plugins trust "+s.name+"' accepts them",
			"server", s.name, "on_change", s.Settings().OnChange, "rewritten", len(news), "tools", news[:min(len(news), maxTold)])
	}
}

// siftLocked leaves the tools that may be used, and reports whether these are others
// than before.
func (s *Server) siftLocked() bool {
	before := s.usable
	s.usable = s.tools
	if a := s.approval; a != nil && s.Settings().OnChange == onChangeBlock && (len(a.rewritten) > 0 || a.fault != nil) {
		// Always another slice: that is how others see that the list has changed.
		s.usable = slices.DeleteFunc(slices.Clone(s.tools), func(t *catalog.Tool) bool { return s.withholdsLocked(t.Name) })
	}
	return !slices.Equal(before, s.usable)
}

// Rewritten reports whether the tool of that name is not what was accepted.
func (s *Server) Rewritten(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approval != nil && s.approval.rewritten[name]
}

// IsWithheld reports whether the tool of that name is not to be used.
func (s *Server) IsWithheld(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approval != nil && s.withholdsLocked(name)
}

func (s *Server) withholdsLocked(name string) bool {
	a := s.approval
	return s.Settings().OnChange == onChangeBlock && (a.fault != nil || a.rewritten[name])
}

// Withheld are the tools that the server offers and that are not to be used, since
// they were rewritten, in its order.
func (s *Server) Withheld() []*catalog.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.usable) == len(s.tools) {
		return nil
	}
	var out []*catalog.Tool
	for _, t := range s.tools {
		if s.withholdsLocked(t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// Approval is how the tools that the server offers stand: the digests of their
// definitions, by name, and why that cannot be told of them.
func (s *Server) Approval() (digests map[string]string, rewritten []string, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.approval == nil {
		return nil, nil, nil
	}
	return s.approval.digests, slices.Sorted(maps.Keys(s.approval.rewritten)), s.approval.fault
}

// Reconsider holds the tools against the pins as they are now, which somebody may
// have changed.
func (s *Server) Reconsider() {
	s.mu.Lock()
	a := s.approval
	changed := false
	if a != nil {
		again := &approval{digests: a.digests}
		s.compare(s.Settings(), again)
		before := s.usable
		s.approveLocked(again)
		changed = !slices.Equal(before, s.usable)
	}
	s.mu.Unlock()
	if changed && s.env.Listed != nil {
		s.env.Listed(s.name)
	}
}
