package clientedit

import (
	"bytes"
	"encoding/json"
	"slices"
)

// mark is the byte order mark of UTF-8.
var mark = []byte("\xef\xbb\xbf")

// place is where a member of an object stands.
type place struct {
	key        string
	start      int // of the key
	value, end int
	comma      int // of the comma behind it; -1 without one
}

// object is where an object stands. Its text has been read by clientfile: brackets
// and quotes have their partners.
type object struct {
	open, close int // the braces
	members     []place
}

// last is the member that counts of those called key, as in JSON.parse.
func (o object) last(key string) (place, bool) {
	for _, m := range slices.Backward(o.members) {
		if m.key == key {
			return m, true
		}
	}
	return place{}, false
}

// root is where the file's object begins; there is none in an empty file.
func (t jsonText) root() (int, bool) {
	i := 0
	if bytes.HasPrefix(t.data, mark) {
		i = len(mark)
	}
	i = t.skip(i)
	return i, i < len(t.data) && t.data[i] == '{'
}

// object is the object that begins at open.
func (t jsonText) object(open int) object {
	o := object{open: open, close: len(t.data)}
	for i := t.skip(open + 1); i < len(t.data); i = t.skip(i) {
		switch t.data[i] {
		case '}':
			o.close = i
			return o
		case ',':
			if n := len(o.members); n > 0 {
				o.members[n-1].comma = i
			}
			i++
		default:
			m := place{start: i, comma: -1}
			i = t.value(i)
			_ = json.Unmarshal(t.data[m.start:i], &m.key) // it is a string
			if i = t.skip(i); i >= len(t.data) {
				return o
			}
			m.value = t.skip(i + 1) // behind the colon
			m.end = t.value(m.value)
			i = m.end
			o.members = append(o.members, m)
		}
	}
	return o
}

// value is the end of the value that begins at i.
func (t jsonText) value(i int) int {
	depth := 0
	for i < len(t.data) {
		switch c := t.data[i]; {
		case c == '"':
			for i++; i < len(t.data) && t.data[i] != '"'; i++ {
				if t.data[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(t.data))
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case depth > 0:
			if next := t.skip(i); next > i {
				i = next
				continue
			}
			i++
			continue
		default: // a number or a word
			n := bytes.IndexAny(t.data[i:], ",:{}[] \t\r\n/")
			if n < 0 {
				return len(t.data)
			}
			return i + max(n, 1)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(t.data)
}

// skip passes blanks, line ends and comments.
func (t jsonText) skip(i int) int {
	for i < len(t.data) {
		switch c := t.data[i]; {
		case isBlank(c) || c == '\n' || c == '\r':
			i++
		case c == '/' && i+1 < len(t.data) && (t.data[i+1] == '/' || t.data[i+1] == '*'):
			i = t.comment(i)
		default:
			return i
		}
	}
	return len(t.data)
}

// comment is the end of the comment that begins at i.
func (t jsonText) comment(i int) int {
	end, more := "\n", 0
	if t.data[i+1] == '*' {
		end, more = "*/", 2
	}
	n := bytes.Index(t.data[i+2:], []byte(end))
	if n < 0 {
		return len(t.data)
	}
	return i + 2 + n + more
}

// restOfLine is where the line goes on behind the comments that begin on it: what
// somebody said of a member stays with it.
func (t jsonText) restOfLine(i int) int {
	end := i
	for i < len(t.data) {
		switch c := t.data[i]; {
		case isBlank(c):
			i++
		case c == '/' && i+1 < len(t.data) && (t.data[i+1] == '/' || t.data[i+1] == '*'):
			i = t.comment(i)
			for end = i; end > 0 && t.data[end-1] == '\r'; {
				end--
			}
			i = end
			if i < len(t.data) && (t.data[i] == '\r' || t.data[i] == '\n') {
				return end
			}
		default:
			return end
		}
	}
	return end
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
