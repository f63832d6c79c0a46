package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/snapshot"
)

// observation is what a server offered at one moment.
type observation struct {
	key   snapshot.Key
	info  []byte
	forth []string // methods
	tools []*catalog.Tool
}

// key says what a run of the plugin at path, started now under set, tells of. It
// is nil when nothing is kept.
func (s *Server) key(set *config.Server, path string) *snapshot.Key {
	if s.env.Snapshots == nil {
		return nil
	}
	plugin, err := s.env.Describer.Sum(path)
	if err != nil {
		s.env.Log.Debug("what the server offers is not kept: its plugin cannot be read", "server", s.name, "error", err)
		return nil
	}
	return s.keyOf(set, plugin)
}

// keyOf has a place of its own for hosts that let servers ask: to those, servers
// may offer more.
func (s *Server) keyOf(set *config.Server, plugin string) *snapshot.Key {
	asks := s.env.Asks != nil && s.env.Asks()
	return &snapshot.Key{
		Server: s.name, Place: strconv.FormatBool(asks) + " " + home(set),
		Entry: EntrySum(set), Plugin: plugin,
	}
}

// EntrySum is a digest of everything in an entry that decides which server is
// reached, as written.
func EntrySum(set *config.Server) string {
	sum := sha256.Sum256(reach(set))
	return hex.EncodeToString(sum[:])
}

// Recall takes over what the server offered another host under its present
// settings, if it has not been asked by this one yet and its plugin is the same. It
// starts nothing. A plugin that is missing now may come back as it was, so that it
// keeps nothing from being recalled.
func (s *Server) Recall(ctx context.Context) {
	if s.env.Snapshots == nil {
		return
	}
	if _, listed := s.Tools(); listed {
		return
	}
	set := s.Settings()
	plugin := ""
	if path, err := s.pluginFile(ctx, set); err == nil {
		// One that cannot be read is as one that is missing.
		plugin, _ = s.env.Describer.Sum(path)
	}
	snap, err := s.env.Snapshots.Read(*s.keyOf(set, plugin))
	if err != nil {
		s.env.Log.Debug("what the server offered cannot be recalled", "server", s.name, "error", err)
	}
	if snap == nil {
		return
	}
	tools := make([]*catalog.Tool, len(snap.Tools))
	for i, o := range snap.Tools {
		tools[i] = catalog.New(s.name, o)
	}
	s.mu.Lock()
	late := s.listed || s.Settings() != set || s.life.state == Stopped
	if !late {
		s.tools, s.recalled = tools, true
		s.introduced = introduction(snap.Info, snap.Methods)
		s.movedLocked()
	}
	s.mu.Unlock()
	if !late && s.env.Listed != nil {
		s.env.Listed(s.name)
	}
}

// keepLocked has what the server offers now kept, in the background: r is what it
// was told by. What is to be kept already is overtaken by it.
func (s *Server) keepLocked(r *run) {
	if r.key == nil || !s.listed {
		return
	}
	s.unkept = &observation{key: *r.key, tools: s.tools}
	if in := s.introduced; in != nil {
		s.unkept.info, s.unkept.forth = in.raw, in.Methods
	}
	if !s.keeping {
		s.keeping = true
		s.wg.Go(s.keep)
	}
}

func (s *Server) keep() {
	for {
		s.mu.Lock()
		o := s.unkept
		s.unkept, s.keeping = nil, o != nil
		s.mu.Unlock()
		if o == nil {
			return
		}
		snap := &snapshot.Snapshot{Info: json.RawMessage(o.info), Methods: o.forth, Tools: make([]catalog.Offer, len(o.tools))}
		for i, t := range o.tools {
			snap.Tools[i] = t.Offer()
		}
		if err := s.env.Snapshots.Keep(o.key, snap); err != nil {
			s.env.Log.Warn("what the server offers cannot be kept for the next start", "server", s.name, "error", err)
		}
	}
}
