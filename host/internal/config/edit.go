package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/collet-dev/collet/host/internal/name"
	"github.com/tidwall/gjson"
)

// ServerEdit changes the table of servers that files have settled.
type ServerEdit struct {
	Name string
	// Entry is a [servers.NAME] table as a JSON object; nil takes the entry out.
	Entry json.RawMessage
}

// Entry is the table of s as a JSON object: what the files say, with what a
// project's file overrides, nothing expanded, keys in file order.
func (s *Server) Entry() json.RawMessage {
	values, at := s.values, s.at
	if s.over != nil {
		values = maps.Clone(values)
		merged := node{keys: map[string]*node{}}
		if at != nil {
			merged.pos = at.pos
			maps.Copy(merged.keys, at.keys)
		}
		for _, k := range overrideKeys {
			if s.overridden(k) {
				values[k], merged.keys[k] = s.over.values[k], s.over.node.key(k)
			}
		}
		at = &merged
	}
	w := jsonWriter{t: &table{l: newLoader()}} // read without a fault, so written without one
	w.value("", values, at)
	return w.buf.Bytes()
}

// Edit returns a configuration with edits carried out, all of them or, with an
// error, none. Each entry is held to the rules of mcp.toml. One that replaces another
// keeps its place in the order, and the directory that its paths are relative to; a
// new one has those of by, the hook that asks for it.
func (c *Config) Edit(by *Hook, edits []ServerEdit) (*Config, error) {
	l := newLoader()
	edited := *c
	edited.Servers, edited.Problems = slices.Clone(c.Servers), nil
	l.cfg, l.seen = &edited, map[string]namesake{}
	for _, s := range edited.Servers {
		l.seen[name.Fold(s.Name)] = namesake{s.Name, Place{s.File, s.Line, s.Layer}}
	}
	for _, e := range edits {
		if err := l.edit(by, e); err != nil {
			return nil, err
		}
	}
	l.settle()
	edited.Problems = c.Problems
	return &edited, nil
}

func (l *loader) edit(by *Hook, e ServerEdit) error {
	i := slices.IndexFunc(l.cfg.Servers, func(s *Server) bool { return s.Name == e.Name })
	if e.Entry == nil {
		if i < 0 {
			return fmt.Errorf("servers.%s: cannot be removed, there is no such server", e.Name)
		}
		l.drop(e.Name)
		delete(l.seen, name.Fold(e.Name))
		return nil
	}
	from := Server{File: by.File, Line: by.Line, Dir: by.Dir, Layer: Named}
	if i >= 0 {
		from = *l.cfg.Servers[i]
		l.drop(e.Name)
		delete(l.seen, name.Fold(e.Name))
	}
	r := jsonReader{line: from.Line}
	value, at, err := r.value(gjson.ParseBytes(e.Entry), 1)
	if err == nil && !gjson.ValidBytes(e.Entry) {
		err = errors.New("is not JSON")
	}
	if err != nil {
		return fmt.Errorf("servers.%s: the entry %w", e.Name, err)
	}
	servers := &table{
		l: l, file: from.File, layer: Named, path: "servers",
		values: map[string]any{e.Name: value}, node: &node{keys: map[string]*node{e.Name: at}}, server: e.Name,
	}
	l.server(servers, e.Name)
	if len(l.cfg.Problems) > 0 {
		p := l.cfg.Problems[0]
		return fmt.Errorf("%s: %s", p.Key, p.Message)
	}
	last := len(l.cfg.Servers) - 1
	s := l.cfg.Servers[last]
	s.Dir, s.Layer = from.Dir, from.Layer
	if i >= 0 {
		if s.Rules.Default == "" && !gjson.GetBytes(from.Entry(), "exposure").Exists() {
			s.Rules.Default, s.inherited = from.Rules.Default, from.inherited
		}
		copy(l.cfg.Servers[i+1:], l.cfg.Servers[i:last])
		l.cfg.Servers[i] = s
	}
	return nil
}

// jsonReader reads JSON as the TOML library and the scanner together read TOML.
type jsonReader struct {
	line, seen int
}

func (r *jsonReader) value(v gjson.Result, depth int) (any, *node, error) {
	if depth > maxDepth {
		return nil, nil, errTooDeep
	}
	r.seen++
	n := &node{pos: position{offset: r.seen, line: r.line, column: 1}, declared: true, text: v.Raw}
	var err error
	switch {
	case v.IsObject():
		n.keys = map[string]*node{}
		table := map[string]any{}
		v.ForEach(func(k, item gjson.Result) bool {
			table[k.String()], n.keys[k.String()], err = r.value(item, depth+1)
			return err == nil
		})
		return table, n, err
	case v.IsArray():
		list := []any{}
		v.ForEach(func(_, item gjson.Result) bool {
			var e any
			var at *node
			if e, at, err = r.value(item, depth+1); err == nil {
				list, n.elems = append(list, e), append(n.elems, at)
			}
			return err == nil
		})
		return list, n, err
	}
	switch v.Type {
	case gjson.String:
		return v.String(), n, nil
	case gjson.True, gjson.False:
		return v.Bool(), n, nil
	case gjson.Number:
		if i, err := strconv.ParseInt(v.Raw, 10, 64); err == nil {
			return i, n, nil
		}
		f, err := strconv.ParseFloat(v.Raw, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("holds the number %.40s, which is out of range", v.Raw)
		}
		return f, n, nil
	}
	return nil, nil, errors.New("holds null, which a configuration has not; leave the key out")
}
