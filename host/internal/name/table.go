package name

import (
	"maps"
	"slices"
	"strings"
)

// Collision is a wire name that several tools would have.
type Collision struct {
	Wire      string
	Canonical []string // sorted, at least two
}

// Table leads from names that callers use to canonical names. It is immutable
// and safe for concurrent use. The zero value is an empty table.
type Table struct {
	canonical  map[string]string // by wire name
	wire       map[string]string // by canonical name; "" for a tool that has none
	collisions []Collision
}

// NewTable returns the table of the given canonical names, spelled by Wire. Names
// without a server and a tool are left out; the order of names does not matter.
func NewTable(names []string) *Table { return newTable(names, Wire) }

// NewPlainTable is NewTable with names spelled by Plain.
func NewPlainTable(names []string) *Table {
	return newTable(names, func(_, tool string) string { return Plain(tool) })
}

func newTable(names []string, spell func(server, tool string) string) *Table {
	claims := make(map[string][]string, len(names))
	t := &Table{canonical: make(map[string]string, len(names)), wire: make(map[string]string, len(names))}
	for _, n := range names {
		server, tool, ok := Split(n)
		if _, seen := t.wire[n]; !ok || seen {
			continue
		}
		w := spell(server, tool)
		t.wire[n] = w
		claims[w] = append(claims[w], n)
	}
	for _, w := range slices.Sorted(maps.Keys(claims)) {
		tools := claims[w]
		if len(tools) == 1 {
			t.canonical[w] = tools[0]
			continue
		}
		// None of them gets it: whoever calls it would risk the effect of another
		// tool than the one that was read about and agreed to.
		slices.Sort(tools)
		t.collisions = append(t.collisions, Collision{Wire: w, Canonical: tools})
		for _, n := range tools {
			t.wire[n] = ""
		}
	}
	return t
}

// Canonical returns the canonical name of the tool with that wire name.
func (t *Table) Canonical(wire string) (canonical string, ok bool) {
	canonical, ok = t.canonical[wire]
	return canonical, ok
}

// Wire returns the wire name of a tool. It is not ok for a tool that the table
// does not hold, and for one that collides with another and so has none.
func (t *Table) Wire(canonical string) (wire string, ok bool) {
	wire = t.wire[canonical]
	return wire, wire != ""
}

// Resolve returns the canonical name for a canonical or a wire name. Canonical
// names have a slash and wire names cannot, so nothing is ambiguous.
func (t *Table) Resolve(name string) (canonical string, ok bool) {
	if _, ok := t.wire[name]; ok {
		return name, true
	}
	return t.Canonical(name)
}

// Collisions returns the wire names that no tool got because several claimed
// them, sorted. The tools are still there under their canonical names.
func (t *Table) Collisions() []Collision { return slices.Clone(t.collisions) }

// Hint returns at most max names like an unknown one, nearest first, in the
// spelling of the one asked for: canonical names when it has a slash, wire names
// when it has none.
func (t *Table) Hint(unknown string, max int) []string {
	if strings.Contains(unknown, "/") {
		return Near(unknown, slices.Collect(maps.Keys(t.wire)), max)
	}
	return Near(unknown, slices.Collect(maps.Keys(t.canonical)), max)
}
