// Package rawjson writes JSON around JSON that was written by somebody else.
// What is embedded keeps every byte, white space included, and strings are
// spelled as they are: only what RFC 8259 section 7 demands is escaped, so <, >,
// & and U+2028 stay themselves. encoding/json compacts what it embeds and
// escapes more.
//
// It never checks what it embeds; Set and Twice alone look into JSON of others.
package rawjson

import (
	"strconv"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, which JSON text cannot do without.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return append(dst, '"')
}

// Object is a JSON object being written: its members come out in the order they
// are added. The zero value is the empty object.
type Object struct{ buf []byte }

// Raw adds a member whose value is JSON already. Empty JSON becomes null.
func (o *Object) Raw(key string, value []byte) {
	o.key(key)
	if len(value) == 0 {
		value = []byte("null")
	}
	o.buf = append(o.buf, value...)
}

// String adds a member that is a string.
func (o *Object) String(key, value string) {
	o.key(key)
	o.buf = AppendString(o.buf, value)
}

// OptionalString adds a string, or null when it is empty.
func (o *Object) OptionalString(key, value string) {
	if value == "" {
		o.Raw(key, nil)
		return
	}
	o.String(key, value)
}

// Int adds a member that is an integer.
func (o *Object) Int(key string, value int64) {
	o.key(key)
	o.buf = strconv.AppendInt(o.buf, value, 10)
}

// OptionalInt adds an integer, or null when it is zero.
func (o *Object) OptionalInt(key string, value int64) {
	if value == 0 {
		o.Raw(key, nil)
		return
	}
	o.Int(key, value)
}

// Bool adds a member that is true or false.
func (o *Object) Bool(key string, value bool) {
	o.key(key)
	o.buf = strconv.AppendBool(o.buf, value)
}

// Strings adds an array of strings, [] when there are none.
func (o *Object) Strings(key string, values []string) {
	o.key(key)
	o.buf = append(o.buf, '[')
	for i, v := range values {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = AppendString(o.buf, v)
	}
	o.buf = append(o.buf, ']')
}

// Bytes returns the object.
func (o *Object) Bytes() []byte {
	if o.buf == nil {
		return []byte("{}")
	}
	return append(o.buf[:len(o.buf):len(o.buf)], '}')
}

func (o *Object) key(key string) {
	if o.buf == nil {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = AppendString(o.buf, key)
	o.buf = append(o.buf, ':')
}

// Array returns the JSON array of elements that are JSON already.
func Array(elements [][]byte) []byte {
	buf := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, e...)
	}
	return append(buf, ']')
}
