package argument

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Parameter is one declared argument of a tool, for a person to read.
type Parameter struct {
	Name        string
	Type        string // "string", "string[]", "integer|null", "any"
	Required    bool
	Repeats     bool     // an array may be given: the key may come more than once
	Enum        []string // the allowed values as JSON, nil when any will do
	Default     string   // as JSON, empty when there is none
	Description string   // the title when there is no description
}

// Parameters lists what a tool's input schema declares, in its own order.
func Parameters(inputSchema json.RawMessage) []Parameter {
	top := parse(inputSchema)
	var (
		list     []Parameter
		seen     = make(map[string]bool)
		required = make(map[string]bool)
	)
	top.required(0, required)
	top.each(0, func(name string, s schema) {
		if seen[name] {
			return
		}
		seen[name] = true
		p := Parameter{
			Name:        name,
			Type:        s.typeName(0),
			Required:    required[name],
			Repeats:     s.repeats(),
			Description: cmp.Or(strings.TrimSpace(s.first("description").String()), s.first("title").String()),
			Default:     s.first("default").Raw,
		}
		if enum := s.first("enum"); enum.IsArray() {
			for _, v := range enum.Array() {
				p.Enum = append(p.Enum, v.Raw)
			}
		} else if c := s.first("const"); c.Exists() {
			p.Enum = []string{c.Raw}
		}
		list = append(list, p)
	})
	return list
}

// Undeclared lists the keys of words that the schema declares nowhere, each once.
// It is none of them where the schema has rules for names it does not know.
func Undeclared(inputSchema json.RawMessage, words []Word) []string {
	top := parse(inputSchema)
	if top.part.Get("patternProperties").Exists() || top.part.Get("additionalProperties").IsObject() {
		return nil
	}
	var keys []string
	for _, w := range words {
		if _, ok := top.declared(w.Key, 0); !ok && !slices.Contains(keys, w.Key) {
			keys = append(keys, w.Key)
		}
	}
	return keys
}

// each visits the declared members, those behind references and combinations
// included.
func (s schema) each(depth int, visit func(name string, s schema)) {
	if s.spent(depth) {
		return
	}
	s.part.Get("properties").ForEach(func(name, part gjson.Result) bool {
		visit(name.String(), s.at(part))
		return true
	})
	if target, ok := s.target(); ok {
		target.each(depth+1, visit)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, m := range s.part.Get(keyword).Array() {
			s.at(m).each(depth+1, visit)
		}
	}
}

// required adds the members that are always required to set: what one of several
// alternatives requires is not.
func (s schema) required(depth int, set map[string]bool) {
	if s.spent(depth) {
		return
	}
	for _, name := range s.part.Get("required").Array() {
		set[name.String()] = true
	}
	if target, ok := s.target(); ok {
		target.required(depth+1, set)
	}
	for _, m := range s.part.Get("allOf").Array() {
		s.at(m).required(depth+1, set)
	}
}

// repeats says whether the schema speaks of an array.
func (s schema) repeats() bool {
	set := s.kinds(0)
	return set != anyKind && set&kindArray != 0
}

// first returns a keyword of the schema, or of what it refers to.
func (s schema) first(keyword string) gjson.Result {
	for range maxDepth {
		if v := s.part.Get(keyword); v.Exists() {
			return v
		}
		target, ok := s.target()
		if !ok {
			break
		}
		s = target
	}
	return gjson.Result{}
}

func (s schema) typeName(depth int) string {
	set := s.kinds(depth)
	if set == kindArray && depth < maxDepth {
		if items := s.items(0); items.part.Exists() {
			name := items.typeName(depth + 1)
			if strings.Contains(name, "|") {
				name = "(" + name + ")"
			}
			return name + "[]"
		}
	}
	return set.String()
}

// String names a set: "string", "integer|null", "any".
func (k kinds) String() string {
	if k == anyKind {
		return "any"
	}
	var names []string
	for _, n := range []struct {
		set  kinds
		name string
	}{
		{kindString, "string"}, {kindNumber, "number"}, {kindInteger, "integer"}, {kindBoolean, "boolean"},
		{kindArray, "array"}, {kindObject, "object"}, {kindNull, "null"},
	} {
		if k&n.set == n.set {
			names = append(names, n.name)
			k &^= n.set
		}
	}
	if k == kindFraction { // an enum of fractions only
		names = append(names, "number")
	}
	return strings.Join(names, "|")
}
