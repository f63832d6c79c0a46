package declare

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a stranger's text is taken over.
const (
	maxText = 2000 // bytes of the description of a property
	maxLine = 120  // bytes of a description that is cut to one line
	maxTag  = 100  // bytes of the value of a tag
)

// note is what a comment says of a property.
type note struct {
	text       string
	deprecated bool
	lines      []string // further lines: what values mean, what is said of items
	facts      []string // tags that are not about validity: @default
	tags       []string // constraints
}

// or adds what is said in another place; the description of this one wins.
func (n note) or(o note) note {
	if n.text == "" {
		n.text = o.text
	}
	n.deprecated = n.deprecated || o.deprecated
	n.lines = adding(n.lines, o.lines)
	n.facts = adding(n.facts, o.facts)
	n.tags = adding(n.tags, o.tags)
	return n
}

func adding(have, more []string) []string {
	for _, s := range more {
		if len(have) < 32 && !slices.Contains(have, s) {
			have = append(slices.Clip(have), s)
		}
	}
	return have
}

// ofItems is the note of an array whose items have the note n.
func (n note) ofItems() note {
	var all note
	if n.text != "" {
		all.lines = []string{"Each: " + firstLine(n.text, maxLine)}
	}
	all.lines = append(all.lines, n.lines...)
	for _, tag := range n.tags {
		all.tags = append(all.tags, "@items "+strings.TrimPrefix(tag, "@"))
	}
	return all
}

// comment is the note as a comment behind an indent, or "" when there is nothing
// to say.
func (n note) comment(indent string, d detail, level int) string {
	var lines []string
	var tags []string
	if level <= d.notes {
		switch {
		case d.short:
			if s := firstLine(n.text, maxLine); s != "" {
				lines = []string{s}
			}
		default:
			lines = append(clean(n.text, maxText), n.lines...)
		}
		if n.deprecated {
			if len(lines) == 0 {
				lines = []string{""}
			}
			lines[0] = strings.TrimSpace("@deprecated " + lines[0])
		}
		tags = n.facts
	}
	if d.tags {
		tags = slices.Concat(tags, n.tags)
	}
	return block(indent, lines, strings.Join(tags, " "))
}

// block is a comment of lines and of tags behind them.
func block(indent string, lines []string, tags string) string {
	var b strings.Builder
	switch {
	case len(lines) == 0 && tags == "":
		return ""
	case len(lines) <= 1:
		b.WriteString(indent + "/** ")
		if len(lines) == 1 && lines[0] != "" {
			b.WriteString(inComment(lines[0]) + " ")
		}
		if tags != "" {
			b.WriteString(inComment(tags) + " ")
		}
		b.WriteString("*/\n")
		return b.String()
	}
	if tags != "" {
		lines = append(slices.Clip(lines), tags)
	}
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+inComment(line), " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}

// clean takes a text apart into lines, without what is invisible, at most max
// bytes of it. Lines in a row that are empty become one.
func clean(s string, max int) []string {
	s = strings.TrimSpace(clip(s, max))
	if s == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		line = strings.TrimRightFunc(visible(line), unicode.IsSpace)
		if line == "" && len(lines) > 0 && lines[len(lines)-1] == "" {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// firstLine is the first line of a text that is not empty, at most max bytes of it.
func firstLine(s string, max int) string {
	for line := range strings.Lines(clip(s, 4*max)) {
		if line = strings.Join(strings.Fields(visible(line)), " "); line != "" {
			return clip(line, max)
		}
	}
	return ""
}

// visible replaces what a terminal or an editor would act upon, or would show out
// of order, by spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == utf8.RuneError:
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// inComment keeps a line from ending the comment it is in, and from being an
// instruction to the compiler (@ts-ignore, @ts-expect-error).
func inComment(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "*/", "*\\/"), "@ts-", "@ ts-")
}

// clip is the beginning of s, with "..." when something is missing, of at most max
// bytes.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	cut := max - len("...")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// quote is a string as a literal of TypeScript.
func quote(s string) string {
	b := append(make([]byte, 0, len(s)+2), '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r != ' ' && !unicode.IsPrint(r):
			b = append(b, `\u{`...)
			b = strconv.AppendInt(b, int64(r), 16)
			b = append(b, '}')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}
