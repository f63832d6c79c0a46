package declare

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// keywords are those of one schema that have a meaning here. What is left out
// (not, if, dependentRequired, contains and others) narrows a type in a way that
// TypeScript cannot say.
type keywords struct {
	id, ref, dynamicRef       string
	types                     []string
	constant, enum            gjson.Result
	anyOf, oneOf, allOf       []gjson.Result
	nullable                  bool
	properties, required      gjson.Result
	additional, patterns      gjson.Result
	names                     gjson.Result
	items, prefixItems        gjson.Result
	additionalItems, minItems gjson.Result
	minimum, maximum          gjson.Result
	format                    string
	title, description        string
	deprecated                bool
	facts, tags               []string
}

// read goes over a schema once. A keyword with a value of the wrong type is as
// good as absent.
func read(s gjson.Result) *keywords {
	k := &keywords{}
	s.ForEach(func(key, v gjson.Result) bool {
		switch key.String() {
		case "$id":
			if v.Type == gjson.String {
				k.id = v.String()
			}
		case "$ref":
			k.ref = reference(v)
		case "$dynamicRef", "$recursiveRef":
			k.dynamicRef = reference(v)
		case "type":
			k.types = words(v)
		case "const":
			k.constant = v
		case "enum":
			k.enum = v
		case "anyOf":
			k.anyOf = schemas(v)
		case "oneOf":
			k.oneOf = schemas(v)
		case "allOf":
			k.allOf = schemas(v)
		case "nullable":
			k.nullable = v.Type == gjson.True
		case "properties":
			k.properties = v
		case "required":
			if v.IsArray() { // of draft-03, a boolean
				k.required = v
			}
		case "additionalProperties":
			k.additional = v
		case "patternProperties":
			k.patterns = v
		case "propertyNames":
			k.names = v
		case "items":
			k.items = v
		case "prefixItems":
			k.prefixItems = v
		case "additionalItems":
			k.additionalItems = v
		case "title":
			if v.Type == gjson.String {
				k.title = v.String()
			}
		case "description":
			if v.Type == gjson.String {
				k.description = v.String()
			}
		case "deprecated":
			k.deprecated = v.Type == gjson.True
		default:
			k.tag(key.String(), v)
		}
		return true
	})
	if words := k.types; len(words) == 1 && words[0] == "integer" {
		k.tags = append(k.tags, "@integer")
	}
	return k
}

// tag takes in a keyword that becomes a tag in a comment.
func (k *keywords) tag(key string, v gjson.Result) {
	switch key {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		switch {
		case key == "minItems":
			k.minItems = v
		case strings.HasSuffix(key, "inimum"):
			k.minimum = v
		case strings.HasSuffix(key, "aximum"):
			k.maximum = v
		}
		if v.Type == gjson.Number || v.Type == gjson.True { // of draft-04, exclusiveMinimum is true
			k.value(&k.tags, key, v)
		}
	case "format", "pattern", "contentEncoding", "contentMediaType":
		if v.Type == gjson.String && v.String() != "" {
			if key == "format" {
				k.format = v.String()
			}
			k.tags = append(k.tags, "@"+key+" "+firstLine(v.String(), maxTag))
		}
	case "uniqueItems", "readOnly", "writeOnly":
		if v.Type == gjson.True {
			k.tags = append(k.tags, "@"+key)
		}
	case "default":
		k.value(&k.facts, key, v)
	case "examples":
		if v.IsArray() {
			v.ForEach(func(_, v gjson.Result) bool {
				k.value(&k.tags, "example", v)
				return false
			})
		}
	case "example":
		k.value(&k.tags, key, v)
	}
}

// value appends a tag with a JSON value, when that is short.
func (k *keywords) value(to *[]string, key string, v gjson.Result) {
	if len(v.Raw) <= maxTag {
		*to = append(*to, "@"+key+" "+firstLine(v.Raw, maxTag))
	}
}

// note is what a comment can say of the schema.
func (k *keywords) note() note {
	n := note{text: strings.TrimSpace(k.description), deprecated: k.deprecated, facts: k.facts, tags: k.tags}
	if n.text == "" {
		n.text = strings.TrimSpace(k.title)
	}
	return n
}

// reference is where the schema refers to.
func (k *keywords) reference() (ref string, ok bool) {
	if k.ref != "" {
		return k.ref, true
	}
	return k.dynamicRef, k.dynamicRef != ""
}

// isObject says whether a schema without a type is about objects.
func (k *keywords) isObject() bool {
	return k.properties.IsObject() || k.patterns.IsObject() || k.required.IsArray() || k.additional.IsObject()
}

// isArray says whether a schema without a type is about arrays.
func (k *keywords) isArray() bool {
	return k.items.IsObject() || k.items.IsArray() || k.prefixItems.IsArray()
}

// large says whether integers beyond 2^53 are to be expected, by the format or by
// a bound that lies there.
func (k *keywords) large() bool {
	switch k.format {
	case "int64", "uint64":
		return true
	}
	return beyond(k.minimum) || beyond(k.maximum)
}

// beyond says whether a number is an integer that a JavaScript number cannot hold
// for certain (ECMA-262 Number.MAX_SAFE_INTEGER).
func beyond(v gjson.Result) bool {
	if v.Type != gjson.Number || len(v.Raw) < 16 || strings.ContainsAny(v.Raw, ".eE") {
		return false
	}
	i, ok := new(big.Int).SetString(v.Raw[:min(len(v.Raw), 64)], 10)
	return ok && i.CmpAbs(big.NewInt(1<<53-1)) > 0
}

// reference is the value of a $ref. An empty one leads to the root, like "#".
func reference(v gjson.Result) string {
	switch {
	case v.Type != gjson.String:
		return "\x00" // leads nowhere
	case v.String() == "":
		return "#"
	}
	return v.String()
}

// words are the names of a type keyword.
func words(v gjson.Result) []string {
	if v.Type == gjson.String {
		return []string{v.String()}
	}
	if !v.IsArray() {
		return nil
	}
	var names []string
	v.ForEach(func(_, name gjson.Result) bool {
		names = append(names, name.String())
		return len(names) < 16 // there are seven
	})
	return names
}

// schemas are those of a keyword that combines them.
func schemas(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	var all []gjson.Result
	v.ForEach(func(_, s gjson.Result) bool {
		all = append(all, s)
		return len(all) <= maxNodes
	})
	return all
}

// count is a keyword that counts.
func count(v gjson.Result) (int, bool) {
	n, err := strconv.Atoi(v.Raw)
	return n, err == nil && n >= 0 && v.Type == gjson.Number
}

// member is the value of an object's member, the last one of that name.
func member(s gjson.Result, name string) (found gjson.Result) {
	s.ForEach(func(key, v gjson.Result) bool {
		if key.String() == name {
			found = v
		}
		return true
	})
	return found
}
