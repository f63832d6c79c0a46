package clientedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// layout is how an object is written, so that what is added looks like the rest.
type layout struct {
	lines  bool   // each member has a line of its own
	indent string // before a member
	outer  string // before the closing brace
	unit   string // what one level adds
	space  string // behind a colon
}

// layout of an object that may be empty; the root of the file says what the object
// itself does not.
func (t jsonText) layout(root int, o object) layout {
	look := layout{unit: "  ", space: " "}
	if top := t.object(root); len(top.members) > 0 {
		first := top.members[0]
		if lead, own := t.lead(first.start); own && lead != "" {
			look.unit = lead
		}
		look.space = t.afterColon(first)
	}
	look.outer = t.indentation(o.open)
	look.indent = look.outer + look.unit
	if len(o.members) == 0 {
		return look
	}
	first := o.members[0]
	look.space = t.afterColon(first)
	if lead, own := t.lead(first.start); own {
		look.lines, look.indent = true, lead
	}
	return look
}

// lead is what stands before at on its line, and whether at begins it.
func (t jsonText) lead(at int) (string, bool) {
	line := t.data[bytes.LastIndexByte(t.data[:at], '\n')+1 : at]
	own := len(bytes.Trim(line, " \t")) == 0 && len(line) < at
	return string(line), own
}

// indentation is the blanks that the line of at begins with.
func (t jsonText) indentation(at int) string {
	line := bytes.TrimPrefix(t.data[bytes.LastIndexByte(t.data[:at], '\n')+1:at], mark)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// afterColon is a blank when there is one behind the member's colon.
func (t jsonText) afterColon(m place) string {
	if isBlank(t.data[m.value-1]) {
		return " "
	}
	return ""
}

// oneLine says whether the object that begins at open is written on one line.
func (t jsonText) oneLine(open int) bool {
	return !bytes.Contains(t.data[open:t.object(open).close], []byte("\n"))
}

// newline is how lines of the file end.
func (t jsonText) newline() string { return newline(t.data) }

func newline(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// render writes a value that stands behind indent.
func (t jsonText) render(value any, indent string, look layout) string {
	switch value := value.(type) {
	case string:
		return string(rawjson.AppendString(nil, value))
	case []string:
		items := make([]string, len(value))
		for i, s := range value {
			items[i] = t.render(s, indent, look)
		}
		return "[" + strings.Join(items, ","+colon(look)) + "]"
	case []member:
		inner := indent + look.unit
		before, between, after := t.newline()+inner, ","+t.newline()+inner, t.newline()+indent
		if !look.lines {
			before, between, after = "", ","+look.space, ""
		}
		items := make([]string, len(value))
		for i, m := range value {
			items[i] = t.render(m.key, inner, look) + ":" + colon(look) + t.render(m.value, inner, look)
		}
		return "{" + before + strings.Join(items, between) + after + "}"
	}
	return "null"
}

// colon is the blank behind one: on lines of their own members have it always.
func colon(look layout) string {
	if look.lines {
		return " "
	}
	return look.space
}

// change puts text in the place of bytes from..to.
type change struct {
	from, to int
	text     string
}

// apply makes changes that do not overlap; of two at one place the first comes
// first.
func apply(data []byte, changes ...change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, c := range changes {
		out = append(append(out, data[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, data[at:]...)
}
