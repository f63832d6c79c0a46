package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a stranger's text harmless on a terminal: C0 and C1 controls,
// DEL, bidirectional controls and bytes that are not UTF-8 are shown as \x1b or
// \u202e. Tab, newline and the carriage return before a newline stay.
func Escape(s string) string {
	var b strings.Builder
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !harmful(r, n) || r == '\r' && strings.HasPrefix(s[i+n:], "\n") {
			i += n
			continue
		}
		b.WriteString(s[start:i])
		switch {
		case r == '\r':
			b.WriteString(`\r`)
		case n == 1: // a control, or a byte that is not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
		start = i
	}
	if start == 0 {
		return s
	}
	b.WriteString(s[start:])
	return b.String()
}

// EscapeJSON is Escape for JSON text: what is harmful in a string is spelled as
// JSON spells it, so that the text means the same.
func EscapeJSON(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if harmful(r, n) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func harmful(r rune, size int) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == utf8.RuneError:
		return size <= 1
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Line returns s on one line, without newlines and tabs, for a table's cell.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

// Visible is text of a stranger on one line, with all that has no shape of its own
// on a terminal escaped: controls, and marks that join, hide or turn around.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range Escape(text) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Escaper returns a writer that makes all that passes harmless. It holds back
// at most one incomplete character.
func Escaper(w io.Writer) io.Writer { return &escaper{w: w} }

type escaper struct {
	w    io.Writer
	rest []byte
}

func (e *escaper) Write(p []byte) (int, error) {
	text := append(e.rest, p...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= n
			}
			break
		}
	}
	if _, err := io.WriteString(e.w, Escape(string(text[:whole]))); err != nil {
		return 0, err
	}
	e.rest = append([]byte(nil), text[whole:]...)
	return len(p), nil
}
