package declare

import (
	"bytes"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/name"
)

// detail says how much of a type is printed.
type detail struct {
	levels int  // of structure
	notes  int  // the level down to which properties are described, 0 is none
	short  bool // descriptions are cut to a line
	tags   bool // constraints are told
	values int  // of an enum, the most that are listed
}

// printer writes types until they are longer than its limit: then it stops, and
// what it has is of no use.
type printer struct {
	buf   []byte
	limit int
}

func (p *printer) over() bool { return len(p.buf) > p.limit }

func (p *printer) add(s string) { p.buf = append(p.buf, s...) }

// print writes a type. level counts the objects around it.
func (p *printer) print(t *typ, d detail, level int) {
	if p.over() {
		return
	}
	switch t.kind {
	case atom:
		p.add(t.text)
	case list:
		if e := t.parts[0]; e.kind == atom && !e.literal() {
			p.add(e.text + "[]")
			return
		}
		p.add("Array<")
		p.print(t.parts[0], d, level)
		p.add(">")
	case tuple:
		p.tuple(t, d, level)
	case object:
		p.object(t, d, level)
	case dictionary:
		p.add("Record<string, ")
		p.print(t.parts[0], d, level)
		p.add(">")
	case keyed:
		p.add("Partial<Record<")
		p.print(t.parts[0], d, level)
		p.add(", ")
		p.print(t.parts[1], d, level)
		p.add(">>")
	case union:
		p.union(t, d, level)
	case intersection:
		for i, part := range t.parts {
			if i > 0 {
				p.add(" & ")
			}
			p.closed(part, d, level)
		}
	}
}

// closed writes a type as a part of another, in parentheses where it needs them.
func (p *printer) closed(t *typ, d detail, level int) {
	if t.kind != union && t.kind != intersection {
		p.print(t, d, level)
		return
	}
	p.add("(")
	p.print(t, d, level)
	p.add(")")
}

func (p *printer) tuple(t *typ, d detail, level int) {
	p.add("[")
	for i, part := range t.parts {
		if i > 0 {
			p.add(", ")
		}
		p.closed(part, d, level)
		if i >= t.required {
			p.add("?")
		}
		if p.over() {
			return
		}
	}
	if t.rest != nil {
		if len(t.parts) > 0 {
			p.add(", ")
		}
		p.add("...Array<")
		p.print(t.rest, d, level)
		p.add(">")
	}
	p.add("]")
}

func (p *printer) union(t *typ, d detail, level int) {
	bases, listed := map[*typ]bool{}, 0
	for i, part := range t.parts {
		if part.literal() {
			// Of a long enum there are some values, and then the type of the others.
			if listed++; listed > d.values {
				b := part.base()
				if bases[b] {
					continue
				}
				bases[b], part = true, b
			}
		}
		if i > 0 {
			p.add(" | ")
		}
		if part.about != "" && level < d.notes {
			p.add("/** " + inComment(firstLine(part.about, maxLine)) + " */ ")
		}
		p.closed(part, d, level)
		if p.over() {
			return
		}
	}
}

func (p *printer) object(t *typ, d detail, level int) {
	start := len(p.buf)
	if p.inline(t, d, level) {
		return
	}
	p.buf = p.buf[:start]
	indent := strings.Repeat("  ", level+1)
	p.add("{\n")
	for _, m := range t.members {
		p.add(m.note.comment(indent+"  ", d, level+1))
		p.add(indent + "  ")
		p.member(m, d, level+1)
		p.add(";\n")
		if p.over() {
			return
		}
	}
	if t.others != nil {
		p.add(others(t.others, indent+"  ", d))
	}
	p.add(indent + "}")
}

// inline writes a small object without comments on one line, if it is one.
func (p *printer) inline(t *typ, d detail, level int) bool {
	const most, width = 3, 70
	if len(t.members) > most || t.others != nil {
		return false
	}
	start := len(p.buf)
	p.add("{ ")
	for i, m := range t.members {
		if !m.t.simple() || m.note.comment("", d, level+1) != "" {
			return false
		}
		if i > 0 {
			p.add("; ")
		}
		p.member(m, d, level+1)
		if len(p.buf)-start > width {
			return false
		}
	}
	p.add(" }")
	return true
}

// simple says whether the type is a word or a few.
func (t *typ) simple() bool {
	switch t.kind {
	case list, dictionary:
		return t.parts[0].kind == atom
	case union:
		return !slices.ContainsFunc(t.parts, func(p *typ) bool { return p.kind != atom })
	}
	return t.kind == atom
}

func (p *printer) member(m property, d detail, level int) {
	p.add(key(m.name))
	if m.optional {
		p.add("?")
	}
	p.add(": ")
	p.print(m.t, d, level)
}

// others is the index signature of an object that has named properties as well.
// Its type has to hold those, too, so what the others are stands beside it.
func others(t *typ, indent string, d detail) string {
	const width = 70
	line := indent + "[key: string]: unknown;"
	if t != unknown && d.tags {
		p := &printer{limit: width}
		if p.print(t, detail{values: d.values}, 0); !p.over() && !bytes.ContainsRune(p.buf, '\n') {
			line += " // " + string(p.buf)
		}
	}
	return line + "\n"
}

// key is the name of a property as TypeScript takes it. Names in other scripts are
// quoted: compilers differ in the version of Unicode they know.
func key(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return quote(s)
		}
	}
	// new(...) would be the signature of a constructor.
	if !name.IsIdentifier(s) || s == "new" {
		return quote(s)
	}
	return s
}
