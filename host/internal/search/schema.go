package search

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// schemaWords reads an input schema: parameter gets the name of every property,
// value every description, title and enum value. A local $ref is followed once,
// wherever it stands, so a schema that refers to itself ends; any other $ref is
// left alone. What is broken is read as far as it can be.
func schemaWords(schema []byte, parameter, value func(string)) {
	if len(schema) == 0 || len(schema) > maxSchema {
		return
	}
	root := gjson.ParseBytes(schema)
	if !root.IsObject() {
		return
	}
	r := newSchemaReader(root, parameter, value)
	r.read(root, 0)
}

// schemaReader is one reading of a schema, with what is left of its bounds.
type schemaReader struct {
	root                   gjson.Result
	parameter, value       func(string)
	work, parameters, text int
	refs                   map[string]bool // those followed
}

func newSchemaReader(root gjson.Result, parameter, value func(string)) schemaReader {
	return schemaReader{root: root, parameter: parameter, value: value,
		work: maxSchemaWork, parameters: maxParameters, text: maxParamText}
}

// spend reports whether v may still be gone through, and takes its size off what
// is left. Every level of a document is looked at again for each level above it.
func (r *schemaReader) spend(v gjson.Result) bool {
	r.work -= len(v.Raw) + 1
	return r.work > 0
}

func (r *schemaReader) read(node gjson.Result, depth int) {
	if depth > maxSchemaDepth || !node.IsObject() || !r.spend(node) {
		return
	}
	node.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "properties", "patternProperties":
			r.properties(v, depth, key.Str == "properties")
		case "description", "title":
			if depth > 0 { // the root's says what the tool's own does
				r.say(v)
			}
		case "const":
			r.say(v)
		case "enum":
			if v.IsArray() && r.spend(v) {
				v.ForEach(func(_, e gjson.Result) bool { r.say(e); return r.text > 0 })
			}
		case "items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else":
			r.nested(v, depth)
		case "$ref":
			r.follow(v, depth)
		}
		return r.work > 0
	})
}

// nested reads a schema or each of a list of schemas.
func (r *schemaReader) nested(v gjson.Result, depth int) {
	if !v.IsArray() {
		r.read(v, depth+1)
		return
	}
	if r.spend(v) {
		v.ForEach(func(_, e gjson.Result) bool { r.read(e, depth+1); return r.work > 0 })
	}
}

func (r *schemaReader) properties(v gjson.Result, depth int, named bool) {
	if !v.IsObject() || !r.spend(v) {
		return
	}
	v.ForEach(func(key, property gjson.Result) bool {
		if r.parameters == 0 || r.work <= 0 {
			return false
		}
		r.parameters--
		if named {
			r.parameter(cut(key.String(), maxParameter))
		}
		r.read(property, depth+1)
		return true
	})
}

// say hands on a string that is small enough to be words.
func (r *schemaReader) say(v gjson.Result) {
	if v.Type != gjson.String || r.text <= 0 {
		return
	}
	s := cut(v.Str, r.text)
	r.text -= len(s)
	if s != "" {
		r.value(s)
	}
}

// follow reads what a local $ref points at, once in the whole schema.
func (r *schemaReader) follow(v gjson.Result, depth int) {
	pointer, ok := strings.CutPrefix(v.String(), "#/")
	if !ok || r.refs[pointer] || len(r.refs) == maxRefs {
		return
	}
	if r.refs == nil {
		r.refs = map[string]bool{}
	}
	r.refs[pointer] = true
	node := r.root
	for step := range strings.SplitSeq(pointer, "/") {
		if !r.spend(node) {
			return
		}
		if node = member(node, unescape.Replace(step)); !node.Exists() {
			return
		}
	}
	r.read(node, depth+1)
}

// unescape undoes the escapes of a JSON pointer (RFC 6901 section 4).
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// member returns an object's member or an array's element. gjson's own paths give
// some characters a meaning.
func member(node gjson.Result, name string) gjson.Result {
	var found gjson.Result
	index := 0
	node.ForEach(func(key, v gjson.Result) bool {
		if node.IsObject() && key.String() == name || node.IsArray() && strconv.Itoa(index) == name {
			found = v
		}
		index++
		return !found.Exists()
	})
	return found
}
