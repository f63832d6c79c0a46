// Package plaintext makes one line of plain text of what a search service calls a
// title or a snippet: markup and entities go, control characters too. It is not a
// sanitiser for text that will be HTML again.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// most bounds what is looked at for one byte that is wanted: markup is rarely more
// than the text.
const most = 8

// Of is s without markup, at most limit bytes long, cut at a whole character.
func Of(s string, limit int) string {
	if len(s) > limit*most {
		s = s[:limit*most]
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(strings.ToValidUTF8(s, "")))
	hidden := 0 // depth of script and style
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch kind {
		case html.TextToken:
			if hidden == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style":
				if kind == html.StartTagToken {
					hidden++
				} else if kind == html.EndTagToken && hidden > 0 {
					hidden--
				}
			case "br", "p", "li", "div", "td":
				b.WriteByte(' ')
			}
		}
	}
	text := strings.Map(visible, strings.ToValidUTF8(b.String(), ""))
	return Cut(strings.Join(strings.Fields(text), " "), limit)
}

// visible drops what nobody sees and a model reads nevertheless: control
// characters, directions, tags, zero widths.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c':
		return -1
	}
	return r
}

// Cut is s up to limit bytes, with "..." in place of what is left out.
func Cut(s string, limit int) string {
	const dots = "..."
	if len(s) <= limit {
		return s
	}
	end := max(limit-len(dots), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
