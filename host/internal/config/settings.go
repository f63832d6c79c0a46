package config

import (
	"encoding/json"
	"slices"
	"strings"
)

// Setting is one value that counts, and where it is said.
type Setting struct {
	// Key is dotted, as TOML spells it: "servers.github.env.TOKEN". Tables are
	// taken apart down to their members.
	Key string
	// Value is unresolved: variables and commands as written.
	Value json.RawMessage
	// Place is zero for a default.
	Place Place
	// Hidden says that Conceal replaced at least a part of Value.
	Hidden bool

	path []string
}

// Server is the name of the server the setting is of, "" for [host] and hooks.
func (s Setting) Server() string {
	if s.path[0] == "servers" {
		return s.path[1]
	}
	return ""
}

// Hook is the name of the hook the setting is of, else "".
func (s Setting) Hook() string {
	if s.path[0] == hooks {
		return s.path[1]
	}
	return ""
}

// Name is Key below [host] or the table of the server or hook.
func (s Setting) Name() string {
	rest := s.path[1:]
	if s.path[0] != "host" {
		rest = s.path[2:]
	}
	key := ""
	for _, step := range rest {
		key = joinKey(key, step)
	}
	return key
}

// Settings are all values that count, defaults included: those of [host], then
// those of each hook and server. Secrets are among them, see Conceal.
func (c *Config) Settings() []Setting {
	var out settings
	for _, k := range hostKeys {
		switch k.name {
		case codemode:
			inTable(&out, c.Host.said, codemode, codemodeKeys)
		case telemetry:
			inTable(&out, c.Host.said, telemetry, telemetryKeys)
		default:
			out.host(c.Host.said, k.unsaid, k.name)
		}
	}
	for _, h := range c.Hooks {
		for _, k := range hookKeys {
			if value, isSaid := h.values[k.name]; isSaid {
				at := h.at.key(k.name)
				out.add([]string{hooks, h.Name, k.name}, value, at, Place{h.File, at.at().line, h.Layer})
			} else if k.unsaid != "" {
				out.add([]string{hooks, h.Name, k.name}, json.RawMessage(k.unsaid), nil, Place{})
			}
		}
	}
	for _, s := range c.Servers {
		for _, k := range serverKeys {
			out.server(s, k)
		}
	}
	return out
}

// inTable adds the keys of a table of [host].
func inTable[T any](out *settings, said map[string]said, table string, keys []key[T]) {
	for _, k := range keys {
		out.host(said, k.unsaid, table, k.name)
	}
}

type settings []Setting

// host adds the key of [host] at path, whose default is unsaid.
func (out *settings) host(said map[string]said, unsaid string, path ...string) {
	full := append([]string{"host"}, path...)
	if s, ok := said[strings.Join(path, ".")]; ok {
		out.add(full, s.value, s.at, s.Place)
	} else if unsaid != "" {
		out.add(full, json.RawMessage(unsaid), nil, Place{})
	}
}

func (out *settings) server(s *Server, k key[Server]) {
	path := []string{"servers", s.Name, k.name}
	values, at := s.values, s.at
	if s.overridden(k.name) {
		values, at = s.over.values, s.over.node
	}
	value, isSaid := values[k.name]
	switch {
	case k.name == "disabled": // told as enabled
	case k.name == "enabled":
		place := Place{}
		if s.Place("enabled") != place || s.Place("disabled") != place {
			place = s.Switch()
		}
		out.add(path, s.Enabled, nil, place)
	case k.name == "exposure" && !isSaid:
		out.add(path, string(s.Rules.Default), nil, s.inherited)
	case isSaid:
		place := s.Place(k.name)
		out.add(path, value, at.key(k.name), place)
	case slices.Contains(processKeys, k.name) && s.Command == "":
	case k.unsaid != "":
		out.add(path, json.RawMessage(k.unsaid), nil, Place{})
	}
}

// add takes tables apart; at is the place's own, which a member's replaces.
func (out *settings) add(path []string, value any, at *node, place Place) {
	if members, ok := value.(map[string]any); ok && len(members) > 0 {
		for _, k := range order(members, at) {
			place := place
			if n := at.key(k); n != nil {
				place.Line = n.pos.line
			}
			out.add(append(slices.Clip(path), k), members[k], at.key(k), place)
		}
		return
	}
	s := Setting{Place: place, path: path}
	for _, step := range path {
		s.Key = joinKey(s.Key, step)
	}
	raw, ok := value.(json.RawMessage)
	if !ok {
		// The loader has found no fault in the value; what is reported here is lost.
		w := jsonWriter{t: &table{l: newLoader()}}
		w.value(s.Key, value, at)
		raw = w.buf.Bytes()
	}
	s.Value = raw
	*out = append(*out, s)
}
