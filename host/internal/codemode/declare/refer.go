package declare

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// resource is the part of a schema that references in it are relative to: the
// whole, or a part with an $id of its own.
type resource struct {
	id     string
	schema gjson.Result
}

// expand is the type of what a reference leads to: unknown where it leads
// nowhere, outside, or to what it is a part of.
func (b *builder) expand(ref string, in resource, levels, hops int) (*typ, note) {
	key := in.id + "\x00" + ref
	x := b.expansions[key]
	switch {
	case x == nil && len(b.expansions) > maxExpansions: // the root is among them
		return unknown, note{}
	case x == nil:
		x = &expansion{types: map[int]*typ{}}
		b.expansions[key] = x
	case x.open:
		return unknown, note{}
	}
	if t := x.types[levels]; t != nil {
		return t, x.note
	}
	target, home, ok := b.resolve(ref, in)
	if !ok {
		return unknown, note{}
	}
	x.open = true
	x.types[levels], x.note = b.schema(target, home, levels, hops)
	x.open = false
	return x.types[levels], x.note
}

// resolve finds the schema that a reference leads to, and the resource it is in.
func (b *builder) resolve(ref string, in resource) (target gjson.Result, home resource, ok bool) {
	where, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return target, home, false
	}
	home = in
	if where != "" && where != in.id {
		if where == b.root.id {
			home = b.root
		} else if home.schema, ok = b.definition(func(s gjson.Result) bool { return member(s, "$id").String() == where }); ok {
			home.id = where
		} else {
			return target, home, false
		}
	}
	switch {
	case fragment == "":
		return home.schema, home, true
	case fragment[0] == '/':
		target, ok = b.lookup(home.schema, fragment)
		return target, home, ok
	}
	target, ok = b.definition(func(s gjson.Result) bool {
		return member(s, "$anchor").String() == fragment || member(s, "$dynamicAnchor").String() == fragment ||
			member(s, "$id").String() == "#"+fragment
	})
	return target, home, ok
}

// definition finds a schema among the definitions of the root, where references by
// another name than a JSON Pointer lead in practice.
func (b *builder) definition(is func(gjson.Result) bool) (found gjson.Result, ok bool) {
	b.work += len(b.root.schema.Raw)
	for _, keyword := range []string{"$defs", "definitions"} {
		member(b.root.schema, keyword).ForEach(func(_, s gjson.Result) bool {
			if s.IsObject() && is(s) {
				found, ok = s, true
			}
			return !ok
		})
	}
	return found, ok
}

// lookup returns the value at a JSON Pointer (RFC 6901).
func (b *builder) lookup(value gjson.Result, pointer string) (gjson.Result, bool) {
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if b.work += len(value.Raw); b.work > maxWork {
			b.overflow = true
			return value, false
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case value.IsObject():
			value = member(value, token)
		case value.IsArray():
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 {
				return value, false
			}
			at := 0
			var found gjson.Result
			value.ForEach(func(_, v gjson.Result) bool {
				if at == i {
					found = v
				}
				at++
				return at <= i
			})
			value = found
		default:
			return value, false
		}
		if !value.Exists() {
			return value, false
		}
	}
	return value, true
}
