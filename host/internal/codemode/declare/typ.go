package declare

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

type kind uint8

const (
	atom         kind = iota // text, as it is
	list                     // parts[0][]
	tuple                    // [parts, ...rest[]]
	object                   // { members; [key: string]: others }
	dictionary               // Record<string, parts[0]>
	keyed                    // Partial<Record<parts[0], parts[1]>>
	union                    // parts, at least two
	intersection             // parts, at least two
)

// typ is one type. Types are shared, so they are not changed once they are made.
type typ struct {
	kind     kind
	text     string
	parts    []*typ
	required int // of a tuple's parts, how many have to be there
	rest     *typ
	members  []property
	others   *typ
	about    string // what is said of it as one of the variants of a union
}

// property is a named member of an object.
type property struct {
	name     string
	optional bool
	t        *typ
	note     note
}

var (
	unknown = &typ{text: "unknown"}
	never   = &typ{text: "never"}
	null    = &typ{text: "null"}
	text    = &typ{text: "string"}
	number  = &typ{text: "number"}
	bigint  = &typ{text: "bigint"}
	boolean = &typ{text: "boolean"}
)

func listOf(t *typ) *typ { return &typ{kind: list, parts: []*typ{t}} }

func record(t *typ) *typ { return &typ{kind: dictionary, parts: []*typ{t}} }

func (t *typ) explained(about string) *typ {
	copied := *t
	copied.about = about
	return &copied
}

// literal says whether the type is one value.
func (t *typ) literal() bool { return t.kind == atom && t.base() != t }

// base is the type that a value's own type is a part of, and any other type itself.
func (t *typ) base() *typ {
	if t.kind != atom {
		return t
	}
	switch c := t.text[0]; {
	case c == '"':
		return text
	case c == '-' || '0' <= c && c <= '9':
		if t.text[len(t.text)-1] == 'n' {
			return bigint
		}
		return number
	case t.text == "true", t.text == "false":
		return boolean
	}
	return t
}

// isObject says whether every value of the type is an object.
func (t *typ) isObject() bool {
	switch t.kind {
	case object, dictionary, keyed:
		return true
	case union:
		return !slices.ContainsFunc(t.parts, func(p *typ) bool { return !p.isObject() })
	case intersection:
		return slices.ContainsFunc(t.parts, (*typ).isObject)
	}
	return false
}

// unionOf is the union of types, as simple as it gets.
func unionOf(types []*typ) *typ {
	var parts []*typ
	words, others := map[string]bool{}, map[*typ]bool{}
	for _, t := range types {
		for _, p := range flat(t, union) {
			switch {
			case p == unknown:
				return unknown
			case p == never, words[p.text], others[p]:
				continue
			case p.kind == atom:
				words[p.text] = true
			default:
				others[p] = true
			}
			parts = append(parts, p)
		}
	}
	return some(union, parts, never)
}

// enumOf is the union of values.
func enumOf(values []*typ) *typ {
	if len(values) == 0 {
		return never
	}
	return unionOf(values)
}

// intersectionOf is the intersection of types, as simple as it gets: objects
// become one where that changes nothing. That takes shared types apart, so it is
// counted: room is how many properties may still be gone over, and below zero
// objects stay as they are.
func intersectionOf(types []*typ, room *int) *typ {
	var parts []*typ
	merged := -1
	for _, t := range types {
		for _, p := range flat(t, intersection) {
			switch {
			case p == never:
				return never
			case p == unknown, slices.ContainsFunc(parts, func(o *typ) bool { return o == p || o.kind == atom && p.kind == atom && o.text == p.text }):
				continue
			case p.kind == object && p.others == nil && merged >= 0 && *room > 0:
				parts[merged] = merge(parts[merged], p, room)
				continue
			case p.kind == object && p.others == nil && merged < 0:
				merged = len(parts)
			}
			parts = append(parts, p)
		}
	}
	// That it is an object at all goes without saying beside one that says more.
	if any := func(p *typ) bool { return p.kind == dictionary && p.parts[0] == unknown }; slices.ContainsFunc(parts, any) {
		if rest := slices.DeleteFunc(slices.Clone(parts), any); slices.ContainsFunc(rest, (*typ).isObject) {
			parts = rest
		}
	}
	return some(intersection, parts, unknown)
}

// merge is the object that is both.
func merge(a, b *typ, room *int) *typ {
	*room -= len(a.members) + len(b.members)
	both := *a
	both.members = slices.Clone(a.members)
	at := make(map[string]int, len(a.members))
	for i, m := range a.members {
		at[m.name] = i
	}
	for _, m := range b.members {
		i, known := at[m.name]
		if !known {
			at[m.name] = len(both.members)
			both.members = append(both.members, m)
			continue
		}
		have := &both.members[i]
		have.t = intersectionOf([]*typ{have.t, m.t}, room)
		have.optional = have.optional && m.optional
		have.note = have.note.or(m.note)
	}
	return &both
}

func flat(t *typ, k kind) []*typ {
	if t.kind == k {
		return t.parts
	}
	return []*typ{t}
}

func some(k kind, parts []*typ, none *typ) *typ {
	switch len(parts) {
	case 0:
		return none
	case 1:
		return parts[0]
	}
	return &typ{kind: k, parts: parts}
}

// maxLiteral is the longest value that is a type of its own, in bytes of JSON.
const maxLiteral = 200

// literal is the type of one value.
func literal(v gjson.Result) *typ { return literalWithin(v, 3) }

func literalWithin(v gjson.Result, levels int) *typ {
	long := len(v.Raw) > maxLiteral
	switch v.Type {
	case gjson.Null:
		return null
	case gjson.True, gjson.False:
		return &typ{text: v.Raw}
	case gjson.String:
		if long {
			return text
		}
		return &typ{text: quote(v.String())}
	case gjson.Number:
		switch {
		case beyond(v) && long:
			return bigint
		case beyond(v):
			return &typ{text: v.Raw + "n"}
		}
		if _, err := strconv.ParseFloat(v.Raw, 64); err != nil || len(v.Raw) > 32 {
			return number
		}
		return &typ{text: v.Raw}
	}
	if long || levels == 0 {
		if v.IsArray() {
			return listOf(unknown)
		}
		return record(unknown)
	}
	if v.IsArray() {
		t := &typ{kind: tuple}
		v.ForEach(func(_, v gjson.Result) bool {
			t.parts = append(t.parts, literalWithin(v, levels-1))
			return true
		})
		t.required = len(t.parts)
		return t
	}
	t := &typ{kind: object}
	v.ForEach(func(key, v gjson.Result) bool {
		t.members = append(t.members, property{name: key.String(), t: literalWithin(v, levels-1)})
		return true
	})
	if len(t.members) == 0 {
		return record(never)
	}
	return t
}
