package config

import (
	"slices"
)

// overrideKeys are the keys of a project's entry that leaves everything else to
// the user's entry of that name, credentials above all.
var overrideKeys = []string{"enabled", "disabled", "exposure", "tool_exposure", "consent"}

// isOverride reports whether t holds nothing but what an override may. An entry
// with a misspelled key is none: it gets the fault of that key.
func (t *table) isOverride() bool {
	for key := range t.values {
		if !slices.Contains(overrideKeys, key) {
			return false
		}
	}
	return true
}

// override puts the entry t of a project on top of the user's server of that
// name, which onTop says there is. An empty table changes nothing.
func (l *loader) override(t *table, server string, onTop bool) {
	faults := len(l.cfg.Problems)
	var said Server
	for _, k := range serverKeys {
		if slices.Contains(overrideKeys, k.name) {
			k.read(t, &said)
		}
	}
	t.checkSwitch()
	if !onTop {
		t.faultAt(t.node, t.path, "overrides nothing: the user's file has no server of that name; set command, url or plugin to define one here, or remove the entry")
	}
	if len(l.cfg.Problems) > faults {
		l.drop(server)
		return
	}
	i := slices.IndexFunc(l.cfg.Servers, func(s *Server) bool { return s.Name == server })
	if i < 0 {
		return // the user's entry is faulty, which has been said
	}
	s := *l.cfg.Servers[i]
	s.over = t
	if t.has("enabled") || t.has("disabled") {
		s.Enabled = said.Enabled
	}
	if t.has("exposure") {
		s.Rules.Default = said.Rules.Default
	}
	if len(said.Rules.Tools) > 0 {
		s.Rules.Tools = said.Rules.Tools
	}
	if t.has("consent") {
		s.consented(l.cfg.Servers[i])
		s.Consent = said.Consent
	}
	l.cfg.Servers[i] = &s
}

// drop takes the entry of a lower layer out.
func (l *loader) drop(server string) {
	l.cfg.Servers = slices.DeleteFunc(l.cfg.Servers, func(s *Server) bool { return s.Name == server })
}

// Place is where the value of key that counts is said; the zero Place when it is
// a default.
func (s *Server) Place(key string) Place {
	if s.overridden(key) {
		return Place{s.over.file, s.over.node.key(key).at().line, s.over.layer}
	}
	if n := s.at.key(key); n != nil {
		return Place{s.File, n.pos.line, s.Layer}
	}
	if key == "exposure" {
		return s.inherited
	}
	return Place{}
}

// overridden reports whether the project says what counts of key.
func (s *Server) overridden(key string) bool {
	if s.over == nil || !s.over.has(key) {
		return false
	}
	rules, isTable := s.over.values[key].(map[string]any)
	return !isTable || len(rules) > 0
}

// Switch is where the server is switched on or off, or, when nothing says so,
// where its entry begins.
func (s *Server) Switch() Place {
	entry := Place{s.File, s.Line, s.Layer}
	for _, p := range []Place{s.Place("enabled"), s.Place("disabled")} {
		if p != (Place{}) && (entry.Layer != Project || p.Layer == Project) {
			entry = p
		}
	}
	return entry
}
