// Package excerpt cuts text of strangers to what fits into a message. It says
// nothing of how much fits, and escapes nothing.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

const mark = "…" // ends a text that was cut

// Of returns the beginning of s: at most n bytes, cut at a rune boundary, with a
// mark where it was cut. Bytes that are no UTF-8 become U+FFFD, because protobuf
// refuses to marshal them and a process can print anything. n is at least 3, the
// mark's own length.
func Of(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
