// Package argument stands between the words of a command line and the JSON that
// a tool takes: it reads from a tool's input schema which kinds of value each
// argument may have, and spells the words accordingly.
//
// It never validates: a value of a possible kind goes on as it was written, and
// whether the schema accepts it is decided where every caller's arguments are.
package argument

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// kinds is a set of JSON kinds.
type kinds uint8

const (
	kindString kinds = 1 << iota
	kindInteger
	kindFraction // a number that is not written as an integer
	kindBoolean
	kindNull
	kindArray
	kindObject

	kindNumber = kindInteger | kindFraction
	anyKind    = kindString | kindNumber | kindBoolean | kindNull | kindArray | kindObject
)

var kindOf = map[string]kinds{
	"string": kindString, "integer": kindInteger, "number": kindNumber, "boolean": kindBoolean,
	"null": kindNull, "array": kindArray, "object": kindObject,
}

// maxDepth bounds the way through references and combinations: a schema of a
// stranger may refer to itself.
const maxDepth = 16

// maxWork bounds how many bytes of schema are looked at for one command: parts
// that combine others, ten at each of sixteen levels, would never end. It is far
// more than an honest schema needs, and takes a fraction of a second. perVisit is
// what a part costs however short it is.
const (
	maxWork  = 16 << 20
	perVisit = 256
)

// document is a tool's input schema as a whole.
type document struct {
	root    gjson.Result
	targets map[string]gjson.Result // what references were found to point to
	work    int                     // bytes that may still be looked at
}

// schema is a part of a tool's input schema, and the whole for its references.
type schema struct {
	*document
	part gjson.Result
}

func parse(inputSchema json.RawMessage) schema {
	root := gjson.ParseBytes(inputSchema)
	return schema{&document{root: root, targets: make(map[string]gjson.Result), work: maxWork}, root}
}

// spent accounts for a look at the part, and says whether there was too much of
// that already.
func (s schema) spent(depth int) bool {
	s.work -= len(s.part.Raw) + perVisit
	return depth > maxDepth || s.work < 0
}

// kinds returns what the schema's keywords leave possible.
func (s schema) kinds(depth int) kinds {
	if s.spent(depth) || !s.part.IsObject() {
		return anyKind
	}
	set := anyKind
	if t := s.part.Get("type"); t.Exists() {
		set &= typeKinds(t)
	} else if e := s.part.Get("enum"); e.IsArray() {
		set &= valueKinds(e)
	} else if c := s.part.Get("const"); c.Exists() {
		set &= valueKind(c)
	}
	if target, ok := s.target(); ok {
		set &= target.kinds(depth + 1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if members := s.part.Get(keyword); members.IsArray() {
			var union kinds
			for _, m := range members.Array() {
				union |= s.at(m).kinds(depth + 1)
			}
			set &= union
		}
	}
	for _, m := range s.part.Get("allOf").Array() {
		set &= s.at(m).kinds(depth + 1)
	}
	if set == 0 { // contradictory: nothing can be said
		return anyKind
	}
	return set
}

// property returns the schema of one member; without one, everything is possible.
func (s schema) property(name string, depth int) schema {
	if p, ok := s.declared(name, depth); ok {
		return p
	}
	if extra := s.part.Get("additionalProperties"); extra.IsObject() {
		return s.at(extra)
	}
	return s.at(gjson.Result{})
}

func (s schema) declared(name string, depth int) (schema, bool) {
	if s.spent(depth) {
		return schema{}, false
	}
	if p, ok := member(s.part.Get("properties"), name); ok {
		return s.at(p), true
	}
	if target, ok := s.target(); ok {
		if p, ok := target.declared(name, depth+1); ok {
			return p, true
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, m := range s.part.Get(keyword).Array() {
			if p, ok := s.at(m).declared(name, depth+1); ok {
				return p, true
			}
		}
	}
	return schema{}, false
}

// items returns the schema of an array's elements.
func (s schema) items(depth int) schema {
	if s.spent(depth) {
		return s.at(gjson.Result{})
	}
	if items := s.part.Get("items"); items.IsObject() {
		return s.at(items)
	}
	if target, ok := s.target(); ok {
		return target.items(depth + 1)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		for _, m := range s.part.Get(keyword).Array() {
			if found := s.at(m).items(depth + 1); found.part.Exists() {
				return found
			}
		}
	}
	return s.at(gjson.Result{})
}

// target follows a reference inside the document (RFC 6901 in a fragment).
func (s schema) target() (schema, bool) {
	ref := s.part.Get("$ref").String()
	if ref == "#" {
		return s.at(s.root), true
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return schema{}, false
	}
	if at, ok := s.targets[pointer]; ok {
		return s.at(at), at.Exists()
	}
	s.work -= len(s.root.Raw)
	at := s.root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if at, ok = member(at, token); !ok {
			break
		}
	}
	s.targets[pointer] = at
	return s.at(at), at.Exists()
}

func (s schema) at(part gjson.Result) schema { return schema{s.document, part} }

// member is gjson's Get for a name that may hold dots and wildcards. The last of
// equal names counts.
func member(object gjson.Result, name string) (found gjson.Result, ok bool) {
	if !object.IsObject() {
		return gjson.Result{}, false
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if key.String() == name {
			found, ok = value, true
		}
		return true
	})
	return found, ok
}

func typeKinds(t gjson.Result) kinds {
	if !t.IsArray() {
		if k, ok := kindOf[t.String()]; ok {
			return k
		}
		return anyKind
	}
	var set kinds
	for _, name := range t.Array() {
		set |= kindOf[name.String()]
	}
	if set == 0 {
		return anyKind
	}
	return set
}

func valueKinds(values gjson.Result) kinds {
	var set kinds
	for _, v := range values.Array() {
		set |= valueKind(v)
	}
	return set
}

// valueKind tells the kind of one JSON value.
func valueKind(v gjson.Result) kinds {
	switch v.Type {
	case gjson.String:
		return kindString
	case gjson.Number:
		if strings.ContainsAny(v.Raw, ".eE") {
			return kindFraction
		}
		return kindInteger
	case gjson.True, gjson.False:
		return kindBoolean
	case gjson.Null:
		return kindNull
	}
	if v.IsArray() {
		return kindArray
	}
	return kindObject
}
