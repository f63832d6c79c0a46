package declare

import (
	"github.com/tidwall/gjson"
)

// object is the type of a schema of objects.
func (b *builder) object(k *keywords, in resource, levels, hops int) *typ {
	if levels <= 0 {
		return record(unknown)
	}
	t := &typ{kind: object}
	required := map[string]bool{}
	k.required.ForEach(func(_, v gjson.Result) bool {
		if v.Type == gjson.String {
			required[v.String()] = true
		}
		return len(required) <= maxNodes
	})
	at := map[string]int{}
	add := func(name string, s gjson.Result) bool {
		m := property{name: name, optional: !required[name], t: unknown}
		if s.Exists() {
			m.t, m.note = b.schema(s, in, levels-1, hops-1)
		}
		if i, twice := at[name]; twice { // the last one counts, as in every parser
			t.members[i] = m
		} else {
			at[name] = len(t.members)
			t.members = append(t.members, m)
		}
		return !b.overflow
	}
	if k.properties.IsObject() {
		k.properties.ForEach(func(key, s gjson.Result) bool { return add(key.String(), s) })
	}
	// What has to be there though nothing else is said of it: {"required": ["a"]} as
	// one of several variants says which of the properties belong together.
	k.required.ForEach(func(_, v gjson.Result) bool {
		if name := v.String(); v.Type == gjson.String {
			if _, known := at[name]; !known {
				b.nodes++
				b.overflow = b.overflow || b.nodes > maxNodes
				return add(name, gjson.Result{})
			}
		}
		return !b.overflow
	})
	t.others = b.others(k, in, levels, hops)
	if len(t.members) > 0 {
		return t
	}
	if names := b.names(k, in, hops); names != nil && t.others != nil {
		return &typ{kind: keyed, parts: []*typ{names, t.others}}
	}
	switch {
	case t.others != nil:
		return record(t.others)
	case k.additional.Type == gjson.False && k.additional.Exists():
		return record(never)
	}
	return record(unknown)
}

// others is the type of the properties that are not named, nil when there should
// be none. A schema that is silent about them allows any, but then a name that
// does not exist would go unnoticed.
func (b *builder) others(k *keywords, in resource, levels, hops int) *typ {
	var parts []*typ
	if k.patterns.IsObject() {
		k.patterns.ForEach(func(_, s gjson.Result) bool {
			t, _ := b.schema(s, in, levels-1, hops-1)
			parts = append(parts, t)
			return !b.overflow
		})
	}
	if a := k.additional; a.Exists() && a.Type != gjson.False {
		t, _ := b.schema(a, in, levels-1, hops-1)
		parts = append(parts, t)
	}
	if parts == nil {
		return nil
	}
	return unionOf(parts)
}

// names is the type of the names of properties, where they are enumerated.
func (b *builder) names(k *keywords, in resource, hops int) *typ {
	if !k.names.IsObject() {
		return nil
	}
	t, _ := b.schema(k.names, in, 0, hops-1)
	parts := []*typ{t}
	if t.kind == union {
		parts = t.parts
	}
	for _, p := range parts {
		if !p.literal() || p.text[0] != '"' {
			return nil
		}
	}
	return t
}
