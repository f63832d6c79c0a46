package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// part is one key between dots.
type part struct {
	name string
	pos  position
}

// child returns the node of a key in table n.
func (n *node) child(p part) (*node, error) {
	if c := n.keys[p.name]; c != nil {
		return c, nil
	}
	c := &node{pos: p.pos, depth: n.depth + 1, path: n.path + len(p.name) + 1}
	if c.depth > maxDepth || c.path > maxPath {
		return nil, errTooDeep
	}
	if n.keys == nil {
		n.keys = map[string]*node{}
	}
	n.keys[p.name] = c
	return c, nil
}

// keyPath reads a.b."c d" and the space around it.
func (s *scanner) keyPath() ([]part, error) {
	var path []part
	for {
		s.space()
		pos := s.here()
		name, err := s.keyPart()
		if err != nil {
			return nil, err
		}
		path = append(path, part{name, pos})
		s.space()
		if !s.accept('.') {
			return path, nil
		}
		if len(path) > maxDepth {
			return nil, errTooDeep
		}
	}
}

func (s *scanner) keyPart() (string, error) {
	start := s.i
	if s.i < len(s.src) && (s.src[s.i] == '"' || s.src[s.i] == '\'') {
		quote := s.src[s.i]
		if err := s.oneLine(quote); err != nil {
			return "", err
		}
		raw := s.src[start+1 : s.i-1]
		if quote == '\'' || !strings.Contains(raw, `\`) {
			return raw, nil
		}
		return unescape(raw)
	}
	for s.i < len(s.src) && isBare(s.src[s.i]) {
		s.i++
	}
	if s.i == start {
		return "", errMalformed
	}
	return s.src[start:s.i], nil
}

func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// unescape decodes the escapes of a basic string.
func unescape(raw string) (string, error) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(raw, `\`)
		b.WriteString(plain)
		if !found {
			return b.String(), nil
		}
		if rest == "" {
			return "", errMalformed
		}
		digits := 0
		switch rest[0] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case '"', '\\':
			b.WriteByte(rest[0])
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", errMalformed
		}
		rest = rest[1:]
		if digits > 0 {
			if len(rest) < digits {
				return "", errMalformed
			}
			code, err := strconv.ParseUint(rest[:digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				return "", errMalformed
			}
			b.WriteRune(rune(code))
			rest = rest[digits:]
		}
		raw = rest
	}
}
