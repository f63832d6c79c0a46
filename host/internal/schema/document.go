package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shape says how a keyword holds sub-schemas.
type shape uint8

const (
	one     shape = 1 << iota // the value is a schema
	list                      // an array of schemas
	named                     // an object of schemas
	inPlace                   // they apply to the same value as the schema that holds them
)

// applicators are the keywords that hold sub-schemas, of all dialects together: to
// see one too many is harmless, to overlook one is not.
var applicators = map[string]shape{
	"$defs": named, "definitions": named,
	"properties": named, "patternProperties": named,
	"additionalProperties": one, "unevaluatedProperties": one, "propertyNames": one,
	"items": one | list, "prefixItems": list, "additionalItems": one, "unevaluatedItems": one, "contains": one,
	"allOf": list | inPlace, "anyOf": list | inPlace, "oneOf": list | inPlace,
	"not": one | inPlace, "if": one | inPlace, "then": one | inPlace, "else": one | inPlace,
	"dependentSchemas": named | inPlace, "dependencies": named | inPlace,
	"contentSchema": one,
}

// counts are the keywords whose value the library narrows to an int.
var counts = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}

// assertions are the other keywords for which null means nothing; const and
// default are not among them.
var assertions = []string{
	"$ref", "$id", "id", "$anchor", "$schema", "$comment", "title", "description", "examples", "format", "readOnly", "writeOnly", "deprecated",
	"type", "enum", "required", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems",
	"dependentRequired", "contentEncoding", "contentMediaType",
}

// node is one sub-schema.
type node struct {
	pointer  string         // JSON Pointer from the root of the document
	body     map[string]any // nil for true and false
	keyword  string         // the keyword of parent that holds it; "" for the root and for targets of references elsewhere
	parent   *node
	resource *resource
	inPlace  []*node // applied to the same value
	ref      *node   // the one of them that $ref leads to
}

// resource is a part of the document with a URI of its own.
type resource struct {
	uri     *url.URL
	pointer string
	anchors map[string]string // name -> pointer
}

// document is a schema taken apart: its sub-schemas, and what they refer to.
type document struct {
	root      any
	draft     int // 4, 6, 7, 2019, 2020
	nodes     map[string]*node
	order     []*node
	resources map[string]*resource
	notices   []string
	pattern   int             // instructions of the largest pattern
	programs  int             // of all patterns
	unique    bool            // whether uniqueItems occurs
	referred  map[string]bool // pointers that references lead to
	below     int             // bytes below those
	searches  int             // parts of embedded resources, and references to anchors at five times the cost
}

// inspect takes a decoded schema apart and changes it to what the library reads as
// it was meant. The error says why the schema is unchecked.
func inspect(value any) (*document, error) {
	var v survey
	v.walk(value, "", 0)
	if v.depth > MaxDepth {
		return nil, fmt.Errorf("the schema is too costly: it is nested deeper than %d levels", MaxDepth)
	}
	if v.number != "" {
		return nil, fmt.Errorf("the schema holds the number %s at %q, which is too large to compare with", v.number, v.pointer)
	}
	switch value.(type) {
	case map[string]any, bool:
	default:
		return nil, fmt.Errorf("the schema is %s; it has to be an object, true or false", article(typeOf(value)))
	}
	base, err := url.Parse(baseURI)
	if err != nil {
		return nil, err
	}
	d := &document{root: value, nodes: map[string]*node{}, resources: map[string]*resource{}, referred: map[string]bool{}}
	if d.draft, err = draftOf(value); err != nil {
		return nil, err
	}
	root := d.addResource(base, "")
	if err := d.walk(value, "", &node{resource: root}, ""); err != nil {
		return nil, err
	}
	d.nodes[""].parent = nil
	// References may lead to schemas in places where the dialect has none
	// (#/components/schemas/X); those are walked as they are found.
	for i := 0; i < len(d.order); i++ {
		if err := d.follow(d.order[i]); err != nil {
			return nil, err
		}
	}
	if d.searches*len(d.order) > maxSearch {
		return nil, errors.New("the schema is too costly: it has too many parts with names of their own ($id, $anchor)")
	}
	return d, nil
}

// dialects are the URIs of $schema, without scheme and trailing "#".
var dialects = map[string]int{
	"json-schema.org/schema":               2020,
	"json-schema.org/draft/2020-12/schema": 2020,
	"json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft-07/schema":      7,
	"json-schema.org/draft-06/schema":      6,
	"json-schema.org/draft-04/schema":      4,
}

func dialect(uri string) (draft int, ok bool) {
	uri = strings.TrimSuffix(strings.TrimSuffix(uri, "/"), "#")
	rest, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(uri, "http://")
	}
	if !ok {
		return 0, false
	}
	draft, ok = dialects[rest]
	return draft, ok
}

func draftOf(value any) (int, error) {
	body, _ := value.(map[string]any)
	declared, ok := body["$schema"]
	if !ok || declared == nil {
		return 2020, nil
	}
	uri, ok := declared.(string)
	if !ok {
		return 0, errors.New("its $schema is not a string")
	}
	draft, ok := dialect(uri)
	if !ok {
		return 0, fmt.Errorf("its dialect %q is not known; draft-04, 06, 07, 2019-09 and 2020-12 are", clip(uri))
	}
	return draft, nil
}

func (d *document) addResource(uri *url.URL, pointer string) *resource {
	r := &resource{uri: uri, pointer: pointer, anchors: map[string]string{}}
	d.resources[uri.String()] = r
	return r
}

// walk takes in the schema at pointer and everything below it.
func (d *document) walk(value any, pointer string, parent *node, keyword string) error {
	if d.nodes[pointer] != nil {
		return nil
	}
	n := &node{pointer: pointer, keyword: keyword, parent: parent, resource: parent.resource}
	switch value := value.(type) {
	case bool:
	case map[string]any:
		n.body = value
	default:
		return nil // the metaschema says what is wrong with it
	}
	if len(d.order) >= maxSchemas {
		return fmt.Errorf("the schema is too costly: it has more than %d sub-schemas", maxSchemas)
	}
	d.nodes[pointer] = n
	d.order = append(d.order, n)
	if applicators[keyword]&inPlace != 0 {
		parent.inPlace = append(parent.inPlace, n)
	}
	if n.body == nil {
		return nil
	}
	d.dropNulls(n)
	if err := d.identify(n); err != nil {
		return err
	}
	if n.resource.pointer != "" {
		d.searches++
	}
	if err := d.prepare(n); err != nil {
		return err
	}
	for _, kw := range slices.Sorted(maps.Keys(n.body)) {
		how := applicators[kw]
		at := pointer + "/" + escape(kw)
		switch held := n.body[kw].(type) {
		case bool:
			if how&one == 0 {
				continue
			}
			if err := d.walk(held, at, n, kw); err != nil {
				return err
			}
		case map[string]any:
			if how&one != 0 {
				if err := d.walk(held, at, n, kw); err != nil {
					return err
				}
			}
			if how&named != 0 {
				for _, name := range slices.Sorted(maps.Keys(held)) {
					if err := d.walk(held[name], at+"/"+escape(name), n, kw); err != nil {
						return err
					}
				}
			}
		case []any:
			if how&list == 0 {
				continue
			}
			for i, item := range held {
				if err := d.walk(item, at+"/"+strconv.Itoa(i), n, kw); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dropNulls removes keywords that are null where null says nothing, as
// serialisers of other languages write absent ones.
func (d *document) dropNulls(n *node) {
	drop := func(keyword string) {
		if value, ok := n.body[keyword]; ok && value == nil {
			delete(n.body, keyword)
			d.notices = append(d.notices, fmt.Sprintf("%q of the schema is null and is read as absent", n.pointer+"/"+keyword))
		}
	}
	for _, keywords := range [][]string{assertions, counts, slices.Sorted(maps.Keys(applicators))} {
		for _, keyword := range keywords {
			drop(keyword)
		}
	}
}

// identify notes the URI and the anchors that a schema gives itself.
func (d *document) identify(n *node) error {
	key := "$id"
	if d.draft == 4 {
		key = "id"
	}
	if _, ok := n.body["$ref"]; !ok || d.draft >= 2019 { // before, $ref hides its siblings
		if id, _ := n.body[key].(string); id != "" {
			uri, err := n.resource.uri.Parse(id)
			if err != nil {
				return fmt.Errorf("the schema's %s %q at %q is no URI", key, clip(id), n.pointer)
			}
			anchor := uri.Fragment
			uri.Fragment, uri.RawFragment = "", ""
			uri.ForceQuery = false
			if given, tail, _ := strings.Cut(id, "#"); given != "" {
				// The library follows a reference for ever from a base that is not what
				// "#" resolves to against it, as "?" and "x/.." are not.
				if !stable(uri) {
					return fmt.Errorf("the schema's %s %q at %q is no usable URI", key, clip(id), n.pointer)
				}
				n.body[key] = uri.String()
				if tail != "" {
					n.body[key] = uri.String() + "#" + tail
				}
			}
			if uri.String() != n.resource.uri.String() {
				if d.resources[uri.String()] != nil {
					return fmt.Errorf("the schema has two parts with the %s %q", key, clip(id))
				}
				n.resource = d.addResource(uri, n.pointer)
			}
			if anchor != "" {
				n.resource.anchors[anchor] = n.pointer
			}
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, _ := n.body[keyword].(string); name != "" {
			n.resource.anchors[name] = n.pointer
		}
	}
	return nil
}

// stable reports whether a URI stays the same when it is read again and an empty
// fragment is resolved against it.
func stable(uri *url.URL) bool {
	again, err := url.Parse(uri.String())
	if err == nil {
		again, err = again.Parse("#")
	}
	return err == nil && again.String() == uri.String()
}

// prepare rewrites keywords that the library reads otherwise than they are meant,
// and counts the cost of patterns.
func (d *document) prepare(n *node) error {
	delete(n.body, "contentEncoding")
	delete(n.body, "contentMediaType")
	if n.body["uniqueItems"] == true {
		d.unique = true
	}
	for _, keyword := range counts {
		if count, ok := n.body[keyword].(json.Number); ok {
			// 18446744073709551615 for "no limit" would become a negative int.
			if f, err := count.Float64(); err == nil && f > 1<<53 {
				n.body[keyword] = json.Number("9007199254740992")
			}
		}
	}
	if pattern, ok := n.body["pattern"].(string); ok {
		pattern = goPattern(pattern)
		n.body["pattern"] = pattern
		if err := d.measure(pattern, n.pointer+"/pattern"); err != nil {
			return err
		}
	}
	if patterns, ok := n.body["patternProperties"].(map[string]any); ok {
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if err := d.measure(pattern, n.pointer+"/patternProperties"); err != nil {
				return err
			}
		}
	}
	return nil
}

// unicodeEscape is \uXXXX after an even number of backslashes.
var unicodeEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^\\])((?:\\\\)*)\\u([0-9A-Fa-f]{4})`) })

// goPattern writes an ECMA-262 pattern's \uXXXX as RE2 has it. The other features
// that both know are spelled alike.
func goPattern(pattern string) string {
	for range 2 { // neighbours share a character that a single pass consumes
		pattern = unicodeEscape().ReplaceAllString(pattern, `$1$2\x{$3}`)
	}
	return pattern
}

// measure adds the cost of a pattern, or says why it cannot be used.
func (d *document) measure(pattern, pointer string) error {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the pattern %q at %q uses what cannot be checked here (look-around, back-references and large repetitions cannot)", clip(pattern), pointer)
	}
	size := programSize(re)
	d.pattern = max(d.pattern, size)
	if d.programs += size; d.programs > maxProgram {
		return errors.New("the schema is too costly: its patterns are too large")
	}
	return nil
}
