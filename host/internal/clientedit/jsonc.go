package clientedit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// jsonText is a JSON file with comments that clientfile can read.
type jsonText struct{ data []byte }

// connect puts name with its members into the table, or brings an entry of that
// name up to date: the members are set, others are taken away, the rest stays.
func (t jsonText) connect(table []string, name string, list []member, others []string) ([]byte, error) {
	path := append(slices.Clone(table), name)
	entry, found, err := t.find(path)
	if err != nil {
		return nil, err
	}
	if !found || t.data[entry.value] != '{' {
		return t.set(path, list)
	}
	for _, key := range others {
		if t.data, err = t.remove(append(slices.Clone(path), key)); err != nil {
			return nil, err
		}
	}
	for _, m := range list {
		if t.data, err = t.set(append(slices.Clone(path), m.key), m.value); err != nil {
			return nil, err
		}
	}
	return t.data, nil
}

// set gives the value at path, and makes the objects on the way.
func (t jsonText) set(path []string, value any) ([]byte, error) {
	root, found := t.root()
	if !found {
		text := t.render(nest(path, value), "", layout{unit: "  ", space: " ", lines: true})
		lead := ""
		if rest := bytes.TrimPrefix(t.data, mark); len(rest) > 0 && !bytes.HasSuffix(rest, []byte("\n")) {
			lead = t.newline()
		}
		return slices.Concat(t.data, []byte(lead+text+t.newline())), nil
	}
	in := root
	for i, key := range path {
		o := t.object(in)
		m, ok := o.last(key)
		if !ok {
			return t.insert(root, o, key, nest(path[i+1:], value)), nil
		}
		last := i == len(path)-1
		switch {
		case last && t.equal(m, value):
			return t.data, nil
		case last || string(t.data[m.value:m.end]) == "null":
			look := t.layout(root, o)
			text := t.render(nest(path[i+1:], value), look.indent, look)
			return apply(t.data, change{m.value, m.end, text}), nil
		case t.data[m.value] != '{':
			return nil, fmt.Errorf("%s is not an object", strings.Join(path[:i+1], "."))
		}
		in = m.value
	}
	return t.data, nil
}

// find is the member at path.
func (t jsonText) find(path []string) (place, bool, error) {
	in, found := t.root()
	var m place
	for i, key := range path {
		if !found {
			return place{}, false, nil
		}
		if t.data[in] != '{' {
			if string(bytes.TrimSpace(t.data[in:m.end])) == "null" {
				return place{}, false, nil
			}
			return place{}, false, fmt.Errorf("%s is not an object", strings.Join(path[:i], "."))
		}
		m, found = t.object(in).last(key)
		in = m.value
	}
	return m, found, nil
}

// nest is a value in an object for each of the keys.
func nest(keys []string, value any) any {
	for _, k := range slices.Backward(keys) {
		value = []member{{k, value}}
	}
	return value
}

// insert adds a member behind the last one of an object.
func (t jsonText) insert(root int, o object, key string, value any) []byte {
	look := t.layout(root, o)
	if len(o.members) == 0 {
		look.lines = look.lines || root == o.open || !t.oneLine(root)
	}
	text := string(rawjson.AppendString(nil, key)) + ":" + look.space + t.render(value, look.indent, look)
	if len(o.members) == 0 {
		if !look.lines {
			return apply(t.data, change{o.open + 1, o.open + 1, text})
		}
		changes := []change{{o.open + 1, o.open + 1, t.newline() + look.indent + text}}
		rest := t.data[o.open+1 : o.close]
		if !bytes.Contains(rest, []byte("\n")) {
			from := o.close - (len(rest) - len(bytes.TrimRight(rest, " \t")))
			changes = append(changes, change{from, o.close, t.newline() + look.outer})
		}
		return apply(t.data, changes...)
	}
	last := o.members[len(o.members)-1]
	at, closing := last.end, ""
	var changes []change
	if last.comma >= 0 {
		at, closing = last.comma+1, ","
	} else {
		changes = []change{{last.end, last.end, ","}}
	}
	if !look.lines {
		if look.space != "" {
			text = " " + text
		}
		return apply(t.data, append(changes, change{at, at, text + closing})...)
	}
	at = t.restOfLine(at)
	return apply(t.data, append(changes, change{at, at, t.newline() + look.indent + text + closing})...)
}

// remove takes away the members at path.
func (t jsonText) remove(path []string) ([]byte, error) {
	for {
		m, found, err := t.find(path)
		if err != nil || !found {
			return t.data, err
		}
		in, _ := t.root()
		if len(path) > 1 {
			parent, _, _ := t.find(path[:len(path)-1])
			in = parent.value
		}
		o := t.object(in)
		i := slices.IndexFunc(o.members, func(p place) bool { return p.start == m.start })
		t.data = t.cut(o, i)
	}
}

// cut takes away one member with the comma that is one too many then, and its line
// when nothing else is on it.
func (t jsonText) cut(o object, i int) []byte {
	m := o.members[i]
	end := m.end
	var changes []change
	switch {
	case m.comma >= 0 && len(bytes.TrimSpace(t.data[m.end:m.comma])) == 0:
		end = m.comma + 1
	case m.comma >= 0: // comments before the comma stay
		changes = append(changes, change{m.comma, m.comma + 1, ""})
	case i > 0 && o.members[i-1].comma >= 0:
		c := o.members[i-1].comma
		changes = append(changes, change{c, c + 1, ""})
	}
	start := m.start
	for start > 0 && isBlank(t.data[start-1]) {
		start--
	}
	rest := end
	for rest < len(t.data) && isBlank(t.data[rest]) {
		rest++
	}
	begins := start > 0 && t.data[start-1] == '\n'
	ends := bytes.HasPrefix(t.data[rest:], []byte("\n")) || bytes.HasPrefix(t.data[rest:], []byte("\r\n"))
	switch {
	case begins && ends:
		start--
		if start > 0 && t.data[start-1] == '\r' {
			start--
		}
		end = rest
	case begins:
		start, end = m.start, rest
	case end > m.end: // with its comma: what follows takes its place
		start, end = m.start, rest
	}
	if n := len(changes); n > 0 && changes[n-1].to > start && changes[n-1].from < start {
		start = changes[n-1].to
	}
	return apply(t.data, append(changes, change{start, end, ""})...)
}

// equal says whether a member has that value already.
func (t jsonText) equal(m place, value any) bool {
	raw, err := clientfile.JSON("", t.data[m.value:m.end])
	if err != nil {
		return false
	}
	return same(gjson.ParseBytes(raw), value)
}

func same(have gjson.Result, want any) bool {
	switch want := want.(type) {
	case string:
		return have.Type == gjson.String && have.Str == want
	case []string:
		items := have.Array()
		return have.IsArray() && slices.EqualFunc(items, want, func(v gjson.Result, s string) bool { return same(v, s) })
	case []member:
		is := members(have)
		if !have.IsObject() || len(is) != len(want) {
			return false
		}
		for _, m := range want {
			if raw, ok := is[m.key]; !ok || !same(gjson.Parse(raw), m.value) {
				return false
			}
		}
		return true
	}
	return false
}
