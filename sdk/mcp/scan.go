package mcp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
	"unicode/utf8"
)

// maxDepth bounds nesting. It is encoding/json's own bound, so nothing that
// passes here is refused for its depth later on.
const maxDepth = 10000

var (
	// errTruncated: so far it is JSON, but more has to follow.
	errTruncated = errors.New("ends in the middle of a value")
	errSyntax    = errors.New("is not valid JSON")
	errDepth     = errors.New("is nested too deeply")
)

// skipSpace returns the index of the first byte at or after i that is not JSON
// white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipValue checks the JSON value that starts at i, after white space, and
// returns the index after it.
func skipValue(b []byte, i, depth int) (int, error) {
	i = skipSpace(b, i)
	if i >= len(b) {
		return i, errTruncated
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return eachMemberAt(b, i, depth, nil)
	case c == '[':
		return eachElement(b, i, depth, nil)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	}
	return i, errSyntax
}

// eachMember checks the object that starts at i and calls visit with each member
// in order: name as written between its quotes, value without white space
// around it. visit may be nil. It returns the index after the object. On an
// error visit has seen the members before the fault.
func eachMember(b []byte, i, depth int, visit func(name, value []byte)) (int, error) {
	if visit == nil {
		return eachMemberAt(b, i, depth, nil)
	}
	return eachMemberAt(b, i, depth, func(name []byte, start, end int) { visit(name, b[start:end:end]) })
}

// eachMemberAt is eachMember for who has to know where a value stands:
// b[start:end].
func eachMemberAt(b []byte, i, depth int, visit func(name []byte, start, end int)) (int, error) {
	if depth >= maxDepth {
		return i, errDepth
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			return i, errTruncated
		}
		if b[i] != '"' {
			return i, errSyntax
		}
		end, err := skipString(b, i)
		if err != nil {
			return end, err
		}
		name := b[i+1 : end-1]
		i = skipSpace(b, end)
		if i >= len(b) {
			return i, errTruncated
		}
		if b[i] != ':' {
			return i, errSyntax
		}
		i = skipSpace(b, i+1)
		end, err = skipValue(b, i, depth+1)
		if err != nil {
			return end, err
		}
		if visit != nil {
			visit(name, i, end)
		}
		var done bool
		if i, done, err = afterItem(b, end, '}'); done || err != nil {
			return i, err
		}
	}
}

// eachElement is eachMember for the array that starts at i.
func eachElement(b []byte, i, depth int, visit func(value []byte)) (int, error) {
	if depth >= maxDepth {
		return i, errDepth
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		i = skipSpace(b, i)
		end, err := skipValue(b, i, depth+1)
		if err != nil {
			return end, err
		}
		if visit != nil {
			visit(b[i:end:end])
		}
		var done bool
		if i, done, err = afterItem(b, end, ']'); done || err != nil {
			return i, err
		}
	}
}

// afterItem reads the comma or the closing bracket that follows an item.
func afterItem(b []byte, i int, closing byte) (next int, done bool, err error) {
	i = skipSpace(b, i)
	switch {
	case i >= len(b):
		return i, false, errTruncated
	case b[i] == closing:
		return i + 1, true, nil
	case b[i] == ',':
		return i + 1, false, nil
	}
	return i, false, errSyntax
}

// Eight bytes at a time: most of a large result is the inside of strings.
const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// skipString checks the string whose opening quote is at i and returns the
// index after its closing quote.
func skipString(b []byte, i int) (int, error) {
	i++
	for i < len(b) {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote, slash := x^(low*'"'), x^(low*'\\')
			special := ((quote-low)&^quote | (slash-low)&^slash | (x-low*0x20)&^x) & high
			if special == 0 {
				i += 8
				continue
			}
			// The lowest bit marks the first of them; a borrow makes only bits above it
			// doubtful.
			i += bits.TrailingZeros64(special) / 8
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return i, errSyntax
		case c == '\\':
			end, err := skipEscape(b, i)
			if err != nil {
				return end, err
			}
			i = end
		default:
			i++
		}
	}
	return i, errTruncated
}

func skipEscape(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return len(b), errTruncated
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return k, errTruncated
			}
			if c := b[k] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') || b[k] < '0' {
				return k, errSyntax
			}
		}
		return i + 6, nil
	}
	return i, errSyntax
}

func skipWord(b []byte, i int, word string) (int, error) {
	n := min(len(word), len(b)-i)
	if string(b[i:i+n]) != word[:n] {
		return i, errSyntax
	}
	if n < len(word) {
		return len(b), errTruncated
	}
	return i + n, nil
}

func skipNumber(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else {
		end := skipDigits(b, i)
		if end == i {
			return i, faultAt(b, i)
		}
		i = end
	}
	if i < len(b) && b[i] == '.' {
		end := skipDigits(b, i+1)
		if end == i+1 {
			return end, faultAt(b, end)
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := skipDigits(b, i)
		if end == i {
			return i, faultAt(b, i)
		}
		i = end
	}
	return i, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

func faultAt(b []byte, i int) error {
	if i >= len(b) {
		return errTruncated
	}
	return errSyntax
}

// checkDocument says whether b is exactly one JSON value.
func checkDocument(b []byte) error {
	end, err := skipValue(b, 0, 0)
	if err != nil {
		return err
	}
	if skipSpace(b, end) != len(b) {
		return errSyntax
	}
	return nil
}

// isObject says whether a value the scanner has accepted is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

func isNull(value []byte) bool { return string(value) == "null" }

// member returns the value of the first member of that name, spelled exactly,
// of a valid object; nil when there is none or object is not an object.
func member(object []byte, name string) []byte {
	if !isObject(object) {
		return nil
	}
	var found []byte
	eachMember(object, 0, 0, func(n, v []byte) {
		if found == nil && sameName(n, name) {
			found = v
		}
	})
	return found
}

// sameName compares a member's name as written with a plain one. Escapes count
// as what they stand for (RFC 8259 section 8.3); case counts.
func sameName(written []byte, name string) bool {
	if string(written) == name {
		return true
	}
	if len(written) <= len(name) || len(written) > 6*len(name) { // an escape is longer than its character
		return false
	}
	for _, c := range written {
		if c == '\\' {
			var s string
			quoted := append(append([]byte{'"'}, written...), '"')
			return json.Unmarshal(quoted, &s) == nil && s == name
		}
	}
	return false
}

// text returns the string that a valid JSON value is; false when it is another
// kind of value.
func text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if isPlain(value) {
		return string(value[1 : len(value)-1]), true
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", false
	}
	return s, true
}

// isPlain says that a string is what stands between its quotes.
func isPlain(value []byte) bool {
	for _, c := range value[1 : len(value)-1] {
		if c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return value[len(value)-1] == '"'
}
