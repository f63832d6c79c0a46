package server

import (
	"bytes"
	"maps"
	"slices"

	"github.com/collet-dev/collet/host/internal/config"
)

// Apply gives the server other settings; its name stays. Those that only say how
// calls are made count from the next call on. Others mean another process: the
// one there is serves its calls in flight for a moment longer, and a server that
// was to run starts again at once. It does not wait for either.
func (s *Server) Apply(set *config.Server) {
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	old := s.set.Swap(set)
	s.queue.resize(set.MaxConcurrent)
	if s.life.state == Stopped {
		return
	}
	r := s.run
	if sameProcess(old, set) {
		switch {
		case s.life.state == Failed && old.StartTimeout != set.StartTimeout:
			s.onLocked(renewed, nil) // what failed for lack of time need not fail again
		case r != nil:
			select {
			case r.renewed <- struct{}{}: // its idle_timeout may be another
			default:
			}
		}
		return
	}
	running := r != nil || s.start != nil || s.life.state == BackingOff
	if r != nil {
		s.retireLocked(r, "its settings changed")
	}
	s.listed, s.introduced = false, nil
	s.own.Store(0)
	s.onLocked(renewed, nil)
	switch st := s.start; {
	case st != nil:
		st.again = true
		st.cancel()
		st.renew(s.ctx)
		s.onLocked(begun, nil)
	case running:
		s.beginLocked()
	}
}

// sameProcess reports whether a process started under one entry can serve the
// other.
func sameProcess(a, b *config.Server) bool {
	return PluginName(a) == PluginName(b) && home(a) == home(b) &&
		a.Command == b.Command && slices.Equal(a.Args, b.Args) && a.Cwd == b.Cwd &&
		maps.Equal(a.Env, b.Env) && a.InheritEnv.All == b.InheritEnv.All && slices.Equal(a.InheritEnv.Names, b.InheritEnv.Names) &&
		a.URL == b.URL && maps.Equal(a.Headers, b.Headers) && a.CAFile == b.CAFile &&
		bytes.Equal(a.OAuth, b.OAuth) && bytes.Equal(a.Config, b.Config)
}
