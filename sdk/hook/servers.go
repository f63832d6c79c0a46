package hook

import (
	"encoding/json"
	"fmt"
	"slices"

	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
)

// Servers is the table of servers of one configuration, as it is written: nothing
// in it is expanded. What an edit makes of an entry is checked by the host as an
// entry of mcp.toml is. A Servers is good during EditServers and no longer.
type Servers struct {
	table []entry
	edits []*hookpb.ServerEdit
}

type entry struct {
	name string
	text json.RawMessage
}

func readServers(req *hookpb.EditServersRequest) *Servers {
	s := &Servers{}
	for _, e := range req.GetServers() {
		s.table = append(s.table, entry{e.GetName(), e.GetEntry()})
	}
	return s
}

// List returns the names, in file order, edits included.
func (s *Servers) List() []string {
	names := make([]string, 0, len(s.table))
	for _, e := range s.table {
		names = append(names, e.name)
	}
	return names
}

// Get returns the [servers.NAME] table as a JSON object.
func (s *Servers) Get(name string) (entry json.RawMessage, ok bool) {
	if i := s.index(name); i >= 0 {
		return s.table[i].text, true
	}
	return nil, false
}

// Set adds an entry, a JSON object, or puts it in the place of the one of that
// name.
func (s *Servers) Set(name string, value json.RawMessage) error {
	if _, err := readObject(value); err != nil {
		return fmt.Errorf("set servers.%s: the entry %w", name, err)
	}
	if i := s.index(name); i >= 0 {
		s.table[i].text = value
	} else {
		s.table = append(s.table, entry{name, value})
	}
	s.edits = append(s.edits, &hookpb.ServerEdit{Edit: &hookpb.ServerEdit_Set{Set: &hookpb.Server{Name: name, Entry: value}}})
	return nil
}

// Update changes an entry by a JSON Merge Patch (RFC 7396): null takes a key out,
// tables are merged, everything else replaces what is there.
func (s *Servers) Update(name string, patch json.RawMessage) error {
	old, ok := s.Get(name)
	if !ok {
		return fmt.Errorf("update servers.%s: there is no server of that name", name)
	}
	value, err := merge(old, patch)
	if err != nil {
		return fmt.Errorf("update servers.%s: the patch %w", name, err)
	}
	return s.Set(name, value)
}

// Remove takes an entry out and reports whether there was one.
func (s *Servers) Remove(name string) bool {
	i := s.index(name)
	if i < 0 {
		return false
	}
	s.table = slices.Delete(s.table, i, i+1)
	s.edits = append(s.edits, &hookpb.ServerEdit{Edit: &hookpb.ServerEdit_Remove{Remove: name}})
	return true
}

func (s *Servers) index(name string) int {
	return slices.IndexFunc(s.table, func(e entry) bool { return e.name == name })
}

// Tools is one server's list of tools. It is good during EditTools and no longer.
type Tools struct {
	Server string
	tools  []*hookpb.Tool
	edits  []*hookpb.ToolEdit
}

// List returns the names without the server's, in the server's order; those that
// were hidden too.
func (t *Tools) List() []string {
	names := make([]string, 0, len(t.tools))
	for _, e := range t.tools {
		names = append(names, e.GetName())
	}
	return names
}

// Get returns the MCP tool object, edits included.
func (t *Tools) Get(name string) (definition json.RawMessage, ok bool) {
	if i := t.index(name); i >= 0 {
		return t.tools[i].GetDefinition(), true
	}
	return nil, false
}

// Patch changes a definition by a JSON Merge Patch (RFC 7396). The tool keeps its
// name, whatever the patch says of it.
func (t *Tools) Patch(name string, patch json.RawMessage) error {
	i := t.index(name)
	if i < 0 {
		return fmt.Errorf("patch %s/%s: there is no tool of that name", t.Server, name)
	}
	definition, err := merge(t.tools[i].GetDefinition(), patch)
	if err != nil {
		return fmt.Errorf("patch %s/%s: the patch %w", t.Server, name, err)
	}
	t.tools[i] = &hookpb.Tool{Name: name, Definition: definition}
	t.edits = append(t.edits, &hookpb.ToolEdit{Name: name, Definition: definition})
	return nil
}

// Hide keeps a tool from everybody.
func (t *Tools) Hide(name string) {
	t.edits = append(t.edits, &hookpb.ToolEdit{Name: name, Hide: true})
}

func (t *Tools) index(name string) int {
	return slices.IndexFunc(t.tools, func(e *hookpb.Tool) bool { return e.GetName() == name })
}
