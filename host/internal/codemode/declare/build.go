package declare

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds on what is read. They keep the work linear in the size of a schema, and
// the memory bounded, whatever the schema says.
const (
	maxSchema     = 1 << 20  // bytes; the limit up to which host/internal/schema checks values
	maxWork       = 16 << 20 // bytes of schema looked at, a nested one once per level
	maxNodes      = 4000     // types in the tree: more never fit into a declaration
	maxValues     = 256      // values of an enum, the rest is their type
	maxLevels     = 24       // properties and items below each other
	maxHops       = 96       // combinations and references below each other
	maxExpansions = 32       // definitions of one schema that references lead to
)

// builder turns one schema into a tree of types.
type builder struct {
	root       resource
	draft      int
	work       int
	nodes      int
	room       int // of properties, for putting objects together
	expansions map[string]*expansion
	overflow   bool // a bound was reached, and something is unknown for that alone
}

// expansion is a definition that a reference led to: what became of it, by the
// levels that were left.
type expansion struct {
	open  bool // it is being built: what refers to it now is a part of it
	types map[int]*typ
	note  note
}

// build returns the type of a schema with structure down to so many levels, and
// whether that is all but for what lies deeper.
func build(schema json.RawMessage, levels int) (t *typ, complete bool) {
	if len(schema) > maxSchema || !json.Valid(schema) {
		return unknown, false
	}
	s := gjson.ParseBytes(schema)
	b := &builder{root: resource{schema: s}, draft: 2020, room: maxNodes, expansions: map[string]*expansion{}}
	if s.IsObject() {
		b.root.id = member(s, "$id").String()
		b.draft = draft(member(s, "$schema").String())
	}
	b.expansions[b.root.id+"\x00#"] = &expansion{open: true}
	t, _ = b.schema(s, b.root, levels, maxHops)
	return t, !b.overflow
}

// draft is the dialect in as far as it matters here: up to 7, what stands beside
// a reference is ignored.
func draft(uri string) int {
	for _, old := range []string{"draft-03", "draft-04", "draft-05", "draft-06", "draft-07"} {
		if strings.Contains(uri, "/"+old+"/") {
			return 7
		}
	}
	return 2020
}

// schema is the type of a schema and what is to be noted about it.
func (b *builder) schema(s gjson.Result, in resource, levels, hops int) (*typ, note) {
	switch s.Type {
	case gjson.True:
		return unknown, note{}
	case gjson.False:
		return never, note{}
	}
	b.work += len(s.Raw)
	b.nodes++
	if b.work > maxWork || b.nodes > maxNodes {
		b.overflow = true
		return unknown, note{}
	}
	if hops <= 0 || !s.IsObject() {
		return unknown, note{}
	}
	k := read(s)
	if id := k.id; id != "" && id[0] != '#' && id != in.id {
		in = resource{id: id, schema: s}
	}
	n := k.note()
	var parts []*typ
	if ref, ok := k.reference(); ok {
		t, about := b.expand(ref, in, levels, hops-1)
		n = n.or(about)
		if b.draft <= 7 {
			return t, n
		}
		parts = append(parts, t)
	}
	own, about := b.own(k, in, levels, hops)
	n = n.or(about)
	parts = append(parts, own)
	for _, variants := range [][]gjson.Result{k.anyOf, k.oneOf} {
		if variants == nil {
			continue
		}
		t, about := b.variants(variants, in, levels, hops)
		n = n.or(about)
		parts = append(parts, t)
	}
	for _, s := range k.allOf {
		t, about := b.schema(s, in, levels, hops-1)
		n = n.or(about)
		parts = append(parts, t)
	}
	t := intersectionOf(parts, &b.room)
	if k.nullable {
		t = unionOf([]*typ{t, null})
	}
	return t, n
}

// own is the type by the keywords of the schema itself, without those that
// combine others.
func (b *builder) own(k *keywords, in resource, levels, hops int) (*typ, note) {
	if k.constant.Exists() {
		return literal(k.constant), note{}
	}
	if k.enum.IsArray() {
		var values []*typ
		k.enum.ForEach(func(_, v gjson.Result) bool {
			t := literal(v)
			if len(values) >= maxValues {
				t = t.base()
			}
			values = append(values, t)
			return len(values) < maxNodes
		})
		return enumOf(values), note{}
	}
	types := k.types
	if types == nil {
		switch {
		case k.isObject():
			types = []string{"object"}
		case k.isArray():
			types = []string{"array"}
		default:
			return unknown, note{}
		}
	}
	var parts []*typ
	var n note
	for _, name := range types {
		switch name {
		case "string":
			parts = append(parts, text)
		case "number", "integer":
			parts = append(parts, number)
			if name == "integer" && k.large() {
				parts = append(parts, bigint)
			}
		case "boolean":
			parts = append(parts, boolean)
		case "null":
			parts = append(parts, null)
		case "array":
			t, about := b.array(k, in, levels, hops)
			n = n.or(about)
			parts = append(parts, t)
		case "object":
			parts = append(parts, b.object(k, in, levels, hops))
		default:
			parts = append(parts, unknown)
		}
	}
	return unionOf(parts), n
}

// variants is a union. Where it is the idiom for an enum whose values are
// explained one by one, the explanations are noted.
func (b *builder) variants(schemas []gjson.Result, in resource, levels, hops int) (*typ, note) {
	var parts []*typ
	var n note
	for _, s := range schemas {
		if b.overflow {
			break
		}
		t, about := b.schema(s, in, levels, hops-1)
		switch {
		case about.text == "":
		case t.kind == object:
			if t.about == "" {
				t = t.explained(about.text)
			}
		case t.literal():
			n.lines = append(n.lines, t.text+": "+firstLine(about.text, maxLine))
		}
		parts = append(parts, t)
	}
	return unionOf(parts), n
}

// array is the type of a schema of arrays.
func (b *builder) array(k *keywords, in resource, levels, hops int) (*typ, note) {
	if levels <= 0 {
		return listOf(unknown), note{}
	}
	places, rest := k.prefixItems, k.items
	if k.items.IsArray() { // up to 2019-09
		places, rest = k.items, k.additionalItems
	}
	if !places.IsArray() {
		if !rest.Exists() {
			return listOf(unknown), note{}
		}
		t, about := b.schema(rest, in, levels-1, hops-1)
		return listOf(t), about.ofItems()
	}
	t := &typ{kind: tuple}
	places.ForEach(func(_, s gjson.Result) bool {
		part, _ := b.schema(s, in, levels-1, hops-1)
		t.parts = append(t.parts, part)
		return !b.overflow
	})
	// A schema of places alone allows any of them to be missing and any others to
	// follow. Who wrote it hardly ever meant that; only what is said counts.
	t.required = len(t.parts)
	if n, ok := count(k.minItems); ok {
		t.required = min(n, t.required)
	}
	if rest.Exists() && rest.Type != gjson.False {
		t.rest, _ = b.schema(rest, in, levels-1, hops-1)
	}
	return t, note{}
}
