package server

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
)

// Apply gives the server other settings; its name stays. Those that only say how
// calls are made count from the next call on. Others mean another process: the
// one there is serves its calls in flight for a moment longer, and a server that
// was to run starts again at once. It does not wait for either.
func (s *Server) Apply(set *config.Server) {
	s.foresee(set)
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	old := s.set.Swap(set)
	s.queue.resize(set.MaxConcurrent)
	if s.life.state == Stopped {
		return
	}
	r := s.run
	if old.OnChange != set.OnChange {
		if s.approval == nil && set.OnChange == onChangeBlock {
			s.approval = s.review(s.ctx, set, s.tools, false) // of a list that is only recalled
		}
		s.siftLocked()
	}
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
	s.listed, s.recalled, s.introduced = false, false, nil
	s.since = time.Now()
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
func sameProcess(a, b *config.Server) bool { return bytes.Equal(reach(a), reach(b)) }

// reach is all of an entry that its process is started with, as written: equal
// for entries of which one's process can serve the other. It may hold secrets.
func reach(set *config.Server) []byte {
	raw, err := json.Marshal(struct {
		Plugin, Home, Command string
		Args                  []string `json:",omitempty"` // none said and none is the same
		Cwd                   string
		Env                   map[string]string `json:",omitempty"`
		InheritAll            bool
		Inherit               []string `json:",omitempty"`
		URL                   string
		Headers               map[string]string `json:",omitempty"`
		CAFile, OAuth, Config string
	}{
		PluginName(set), home(set), set.Command, set.Args, set.Cwd, set.Env,
		set.InheritEnv.All, set.InheritEnv.Names, set.URL, set.Headers,
		set.CAFile, string(set.OAuth), string(set.Config),
	})
	if err != nil {
		panic(err) // there are only texts in it
	}
	return raw
}
