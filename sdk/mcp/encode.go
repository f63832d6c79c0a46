package mcp

import (
	"bytes"
	"unicode/utf8"
)

// appendString appends s as a JSON string. Only what JSON demands is escaped:
// "<", ">", "&" and U+2028 stay as they are, because some servers compare bytes.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // a bad byte becomes U+FFFD
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

// oneLine returns a valid JSON value without line breaks. They can only stand
// between its tokens, so a space means the same.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	value = bytes.ReplaceAll(value, []byte{'\n'}, []byte{' '})
	return bytes.ReplaceAll(value, []byte{'\r'}, []byte{' '})
}

// appendMembers appends the members of a valid JSON object, without its braces
// and as written, except those skip says to leave out. comma says whether
// members came before; the result says whether members are there now.
func appendMembers(b []byte, object []byte, comma bool, skip func(name []byte) bool) ([]byte, bool) {
	if object == nil {
		return b, comma
	}
	eachMember(object, skipSpace(object, 0), 0, func(name, value []byte) {
		if skip(name) {
			return
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = append(append(append(b, '"'), name...), '"', ':')
		b = append(b, oneLine(value)...)
	})
	return b, comma
}
