package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// follow resolves the references of one schema and takes in what they lead to.
func (d *document) follow(n *node) error {
	keywords := []string{"$ref"}
	switch d.draft {
	case 2019:
		keywords = append(keywords, "$recursiveRef")
	case 2020:
		keywords = append(keywords, "$dynamicRef")
	}
	for _, keyword := range keywords {
		ref, ok := n.body[keyword].(string)
		if !ok {
			continue
		}
		target, err := d.resolve(n, ref)
		if err != nil {
			return err
		}
		if target == nil {
			continue
		}
		if keyword == "$ref" && d.draft <= 7 {
			n.inPlace = nil // its siblings are ignored
		}
		if keyword == "$ref" {
			n.ref = target
		}
		n.inPlace = append(n.inPlace, target)
	}
	return nil
}

// resolve returns the schema that a reference leads to, nil when that is the
// metaschema of a dialect, which is built in.
func (d *document) resolve(n *node, ref string) (*node, error) {
	uri, err := n.resource.uri.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("its reference %q at %q is no URI", clip(ref), n.pointer)
	}
	fragment := uri.Fragment
	uri.Fragment, uri.RawFragment = "", ""
	res := d.resources[uri.String()]
	if res == nil {
		if strings.HasPrefix(uri.String(), "http://json-schema.org/") || strings.HasPrefix(uri.String(), "https://json-schema.org/") {
			return nil, nil // built in, or else the library asks to load it and is refused
		}
		return nil, outwardError(ref)
	}
	pointer := res.pointer
	switch {
	case fragment == "" || fragment == "/": // the library reads "#/" as the root
	case fragment[0] == '/':
		pointer += fragment
	default:
		at, ok := res.anchors[fragment]
		if !ok {
			return nil, fmt.Errorf("its reference %q at %q leads nowhere", clip(ref), n.pointer)
		}
		pointer = at
		d.searches += 5
	}
	value, ok := lookup(d.root, pointer)
	if !ok {
		return nil, fmt.Errorf("its reference %q at %q leads nowhere", clip(ref), n.pointer)
	}
	if !d.referred[pointer] {
		d.referred[pointer] = true
		var v survey
		v.walk(value, "", 0)
		if d.below += v.size; d.below > maxReferred {
			return nil, errors.New("the schema is too costly: its references overlap too much")
		}
	}
	if d.nodes[pointer] == nil {
		if err := d.walk(value, pointer, &node{resource: d.around(pointer)}, ""); err != nil {
			return nil, err
		}
	}
	target := d.nodes[pointer]
	if target == nil {
		return nil, fmt.Errorf("its reference %q at %q leads to something that is no schema", clip(ref), n.pointer)
	}
	return target, nil
}

// around returns the resource that a place belongs to.
func (d *document) around(pointer string) *resource {
	for pointer != "" {
		if n := d.nodes[pointer]; n != nil {
			return n.resource
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return d.nodes[""].resource
}

// lookup returns the value at a JSON Pointer (RFC 6901).
func lookup(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch held := value.(type) {
		case map[string]any:
			member, ok := held[token]
			if !ok {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(held) {
				return nil, false
			}
			value = held[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// escape makes a name a token of a JSON Pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// expand counts, for every schema, how many schemas a value that comes to it is
// checked against without going deeper into the value. Doubling allOf and $ref
// forty times is short to write and 2^40 to check. What multiplies with the depth of
// the value instead is left to the time limit of a validation: real unions of
// nested filters and documents do multiply so, and are cheap for the values that
// people write.
func (d *document) expand() error {
	type cost struct{ schemas, chain int }
	costs := make(map[*node]cost, len(d.order)) // a zero cost is being counted
	var count func(n *node) (cost, error)
	count = func(n *node) (cost, error) {
		if c, ok := costs[n]; ok {
			if c.schemas == 0 {
				return c, fmt.Errorf("the schema refers to itself without end at %q", n.pointer)
			}
			return c, nil
		}
		costs[n] = cost{}
		sum := cost{schemas: 1, chain: 1}
		for _, next := range n.inPlace {
			c, err := count(next)
			if err != nil {
				return c, err
			}
			sum.schemas += c.schemas
			sum.chain = max(sum.chain, c.chain+1)
			if sum.schemas > maxExpansion {
				return sum, fmt.Errorf("the schema is too costly: at %q one value would be checked against more than %d schemas", n.pointer, maxExpansion)
			}
			if sum.chain > maxChain {
				return sum, fmt.Errorf("the schema is too costly: at %q references and combinations go deeper than %d", n.pointer, maxChain)
			}
		}
		costs[n] = sum
		return sum, nil
	}
	for _, n := range d.order {
		if _, err := count(n); err != nil {
			return err
		}
	}
	return nil
}
