package schema

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// rule is what a schema asks of a value, in the form for a quick yes (see quick).
// It knows the keywords that nearly all published schemas are made of. A schema
// that uses another is vague, and nothing is said about values that come to it.
// To ask for too much is harmless here, to ask for too little is not: that is why
// keywords are allowed one by one, and why dialects need no distinction.
type rule struct {
	vague bool
	kinds kind

	members  map[string]member // nil when no property has a name that matters
	required uint64            // the bits of the members that have to be there
	rest     *rule             // of other properties; nil: any
	closed   bool              // there must be no other properties

	items              *rule // nil: any
	minItems, maxItems int

	text                 bool // whether any of the next three is asked
	minLength, maxLength int
	pattern              *regexp.Regexp

	chosen   bool            // whether the value has to be one of the next two
	values   map[string]bool // strings of enum and const
	literals map[string]bool // their numbers, true, false, null, as they are written

	compared bool // whether numbers are, with the next two
	min, max int64

	all []*rule // allOf, $ref
	any []*rule // anyOf
}

type member struct {
	rule *rule // nil: that of other properties
	bit  uint64
}

// kind is a set of JSON types.
type kind uint8

const (
	isNull kind = 1 << iota
	isBool
	isNumber
	isInteger // a number without a fraction
	isString
	isArray
	isObject
	isAny = 1<<iota - 1
)

var kinds = map[string]kind{
	"null": isNull, "boolean": isBool, "number": isNumber | isInteger, "integer": isInteger,
	"string": isString, "array": isArray, "object": isObject,
}

// saysNothing are keywords that ask nothing of a value by themselves.
var saysNothing = map[string]bool{
	"$schema": true, "$comment": true, "$defs": true, "definitions": true,
	"title": true, "description": true, "default": true, "examples": true, "example": true, "format": true,
	"deprecated": true, "readOnly": true, "writeOnly": true,
}

// rules makes the rules of a document, one for each schema.
type rules struct {
	doc  *document
	made map[string]*rule // by pointer
}

func (d *document) rule() *rule {
	return rules{d, map[string]*rule{}}.of(d.root, "")
}

func (rs rules) of(value any, pointer string) *rule {
	if r := rs.made[pointer]; r != nil {
		return r
	}
	r := &rule{kinds: isAny, maxItems: math.MaxInt, maxLength: math.MaxInt, min: math.MinInt64, max: math.MaxInt64}
	rs.made[pointer] = r // before its parts, which may refer to it
	switch value := value.(type) {
	case bool:
		r.vague = !value
	case map[string]any:
		if ref, ok := value["$ref"]; ok && rs.doc.draft <= 7 {
			value = map[string]any{"$ref": ref} // its siblings are ignored
		}
		for keyword, want := range value {
			if !rs.read(r, keyword, want, pointer) {
				r.vague = true
				return r
			}
		}
		rs.readObject(r, value, pointer)
	default:
		r.vague = true
	}
	return r
}

// read takes one keyword into r. It is false for one that is not known here, or
// whose value is unusual.
func (rs rules) read(r *rule, keyword string, want any, pointer string) (ok bool) {
	at := pointer + "/" + escape(keyword)
	switch keyword {
	case "type":
		r.kinds = 0
		for _, t := range asList(want) {
			name, _ := t.(string)
			r.kinds |= kinds[name]
		}
		return true
	case "properties", "required", "additionalProperties": // read together
		return true
	case "items":
		if _, tuple := want.([]any); tuple {
			return false
		}
		r.items = rs.of(want, at)
		return true
	case "allOf", "anyOf":
		list, ok := want.([]any)
		var subs []*rule
		for i, sub := range list {
			subs = append(subs, rs.of(sub, at+"/"+strconv.Itoa(i)))
		}
		if keyword == "anyOf" {
			r.any = subs
		} else {
			r.all = append(r.all, subs...)
		}
		return ok && len(list) > 0
	case "$ref":
		n := rs.doc.nodes[pointer]
		if n == nil || n.ref == nil {
			return false
		}
		target, found := lookup(rs.doc.root, n.ref.pointer)
		r.all = append(r.all, rs.of(target, n.ref.pointer))
		return found
	case "minLength":
		r.text = true
		return count(want, &r.minLength)
	case "maxLength":
		r.text = true
		return count(want, &r.maxLength)
	case "minItems":
		return count(want, &r.minItems)
	case "maxItems":
		return count(want, &r.maxItems)
	case "pattern":
		r.text = true
		s, _ := want.(string)
		re, err := regexp.Compile(s)
		r.pattern = re
		return err == nil
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return r.compare(keyword, want)
	case "$id", "id": // below the root it starts a resource, which is for the library
		return pointer == ""
	case "enum", "const":
		if r.chosen { // both, which is for the library
			return false
		}
		r.chosen, r.values, r.literals = true, map[string]bool{}, map[string]bool{}
		values := []any{want}
		if keyword == "enum" {
			values, ok = want.([]any)
			if !ok {
				return false
			}
		}
		for _, v := range values {
			switch v := v.(type) {
			case string:
				r.values[v] = true
			case json.Number:
				r.literals[string(v)] = true
			case bool:
				r.literals[strconv.FormatBool(v)] = true
			case nil:
				r.literals["null"] = true
			}
		}
		return true
	}
	return saysNothing[keyword] || strings.HasPrefix(keyword, "x-")
}

// readObject takes the keywords about properties into r.
func (rs rules) readObject(r *rule, body map[string]any, pointer string) {
	properties, _ := body["properties"].(map[string]any)
	required, _ := body["required"].([]any)
	if len(properties)+len(required) > 0 {
		r.members = make(map[string]member, len(properties))
	}
	for name, sub := range properties {
		r.members[name] = member{rule: rs.of(sub, pointer+"/properties/"+escape(name))}
	}
	for _, n := range required {
		name, ok := n.(string)
		m := r.members[name]
		if m.bit != 0 {
			continue
		}
		bit := r.required + 1 // the bits are taken from the lowest on
		if !ok || bit == 0 {  // more than 64
			r.vague = true
			return
		}
		r.required |= bit
		m.bit = bit
		r.members[name] = m
	}
	if sub, ok := body["additionalProperties"]; ok {
		if sub == false {
			r.closed = true
		} else {
			r.rest = rs.of(sub, pointer+"/additionalProperties")
		}
	}
}

func count(want any, to *int) bool {
	n, _ := want.(json.Number)
	i, err := strconv.Atoi(string(n))
	*to = i
	return err == nil
}

// compare takes a bound on numbers into r, if it is an integer.
func (r *rule) compare(keyword string, want any) bool {
	n, _ := want.(json.Number)
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i == math.MinInt64 || i == math.MaxInt64 {
		return false
	}
	r.compared = true
	switch keyword {
	case "exclusiveMinimum":
		i++
		fallthrough
	case "minimum":
		r.min = max(r.min, i)
	case "exclusiveMaximum":
		i--
		fallthrough
	case "maximum":
		r.max = min(r.max, i)
	}
	return true
}
