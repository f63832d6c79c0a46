// Package rawtoml writes the keys and strings of TOML files that others edit, too:
// as a person would, on one line.
//
// It never reads TOML, and knows no tables.
package rawtoml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key is a key, in quotes when TOML wants them.
func Key(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return key
	}
	return basic(key)
}

// Quote is a TOML string on one line: a literal one where that spares escapes, as
// in the paths of Windows.
func Quote(value string) string {
	plain := func(r rune) bool { return r >= ' ' && r != 0x7f && r != '\'' && r != utf8.RuneError }
	if strings.ContainsAny(value, `\"`) && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return "'" + value + "'"
	}
	return basic(value)
}

// basic is a TOML basic string (TOML 1.0, "String").
func basic(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r) // a byte that is no UTF-8 becomes U+FFFD
		}
	}
	b.WriteByte('"')
	return b.String()
}
