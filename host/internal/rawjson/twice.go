package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// manyMembers is from how many members on an object's names are kept in a map:
// fewer are compared quicker one by one.
const manyMembers = 16

// Twice finds a member whose name an object has already, in valid JSON, and
// returns its JSON Pointer. Parsers differ in which of the two counts, so what was
// checked need not be what the other side takes (RFC 8259, 4).
func Twice(text []byte) (pointer string, found bool) {
	var names [manyMembers][]byte
	s := members{text: text, names: names[:0]}
	return s.value()
}

// members walks through valid JSON once. The caller has bounded its nesting.
type members struct {
	text  []byte
	at    int
	names [][]byte // of the objects around at, the innermost one's last
}

// value takes the value at s.at, and the white space around it.
func (s *members) value() (pointer string, found bool) {
	s.space()
	switch s.text[s.at] {
	case '{':
		pointer, found = s.object()
	case '[':
		pointer, found = s.array()
	case '"':
		s.quoted()
	default: // a number or a word
		for s.at < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.at])) {
			s.at++
		}
	}
	s.space()
	return pointer, found
}

func (s *members) object() (pointer string, found bool) {
	var (
		first = len(s.names)
		many  map[string]bool
	)
	defer func() { s.names = s.names[:first] }()
	for s.at++; ; s.at++ { // past the brace, then past each comma
		s.space()
		if s.text[s.at] == '}' {
			s.at++
			return "", false
		}
		name := s.name()
		if many == nil {
			for _, n := range s.names[first:] {
				if bytes.Equal(n, name) {
					return step(name, ""), true
				}
			}
			s.names = append(s.names, name)
			if len(s.names)-first >= manyMembers {
				many = map[string]bool{}
				for _, n := range s.names[first:] {
					many[string(n)] = true
				}
			}
		} else if many[string(name)] {
			return step(name, ""), true
		} else {
			many[string(name)] = true
		}
		s.space()
		s.at++ // the colon
		if rest, found := s.value(); found {
			return step(name, rest), true
		}
		if s.text[s.at] == '}' {
			s.at++
			return "", false
		}
	}
}

func (s *members) array() (pointer string, found bool) {
	s.at++
	s.space()
	if s.text[s.at] == ']' {
		s.at++
		return "", false
	}
	for i := 0; ; i++ {
		if rest, found := s.value(); found {
			return step(strconv.Itoa(i), rest), true
		}
		s.at++ // the comma, or the bracket
		if s.text[s.at-1] == ']' {
			return "", false
		}
	}
}

// name takes a member's name. Two spellings of one name are the same.
func (s *members) name() []byte {
	raw, escaped := s.quoted()
	if !escaped {
		return raw[1 : len(raw)-1]
	}
	var name string
	_ = json.Unmarshal(raw, &name) // it is valid
	return []byte(name)
}

// quoted takes a string and says whether there is an escape in it.
func (s *members) quoted() (raw []byte, escaped bool) {
	begin := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			escaped = true
			s.at++
		}
	}
	s.at++
	return s.text[begin:s.at], escaped
}

func (s *members) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// step puts a name before a JSON Pointer (RFC 6901).
func step[T string | []byte](name T, rest string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(string(name)) + rest
}
