// Package challenge reads the challenges with which a server refuses a request
// (WWW-Authenticate, RFC 9110 section 11.6.1) as they really come: empty realms,
// missing commas, schemes nobody knows. What cannot be read is skipped.
//
// It decides nothing, and trusts nothing that a challenge says.
package challenge

import "strings"

// maxHeader is how much of a header is read, in bytes. Real ones have a few
// hundred.
const maxHeader = 16 << 10

// Bearer is what a server says of the token it wants (RFC 6750 section 3, RFC 9728
// section 5.1).
type Bearer struct {
	ResourceMetadata string   // the URL of its protected resource metadata
	Scopes           []string // what the token has to have; nil when it does not say
	Error            string   // "invalid_token", "insufficient_scope"; "" for a request without a token
	Description      string   // for a person, in the server's own words
}

// InsufficientScope says whether a token was fine but for its scopes.
func (b Bearer) InsufficientScope() bool { return b.Error == "insufficient_scope" }

// Parse returns the Bearer challenge of a WWW-Authenticate header, or of several
// that were joined with commas. Of several Bearer challenges the first one counts,
// and of a repeated parameter the first.
func Parse(header string) Bearer {
	s := scanner{rest: header[:min(len(header), maxHeader)]}
	var (
		b     Bearer
		scope string
		seen  = map[string]bool{}
		inone bool // inside the first Bearer challenge
		done  bool
	)
	for {
		word, value, kind := s.next()
		if kind == end {
			break
		}
		if kind == scheme {
			done = done || inone
			inone = !done && strings.EqualFold(word, "bearer")
			continue
		}
		name := strings.ToLower(word)
		// Some send the metadata's URL with another scheme.
		if !inone && !(name == "resource_metadata" && b.ResourceMetadata == "") || seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "resource_metadata":
			b.ResourceMetadata = value
		case "scope":
			scope = value
		case "error":
			b.Error = value
		case "error_description":
			b.Description = value
		}
	}
	if f := strings.Fields(scope); len(f) > 0 {
		b.Scopes = f
	}
	return b
}

type kind uint8

const (
	end kind = iota
	scheme
	parameter
)

// scanner reads a header word by word.
type scanner struct{ rest string }

// next returns a scheme, or a parameter with its value. A scheme is a word that no
// "=" follows.
func (s *scanner) next() (word, value string, k kind) {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\r\n,")
		if s.rest == "" {
			return "", "", end
		}
		n := strings.IndexFunc(s.rest, func(r rune) bool { return !isTokenRune(r) })
		if n < 0 {
			n = len(s.rest)
		}
		if n == 0 {
			s.skip()
			continue
		}
		word, s.rest = s.rest[:n], s.rest[n:]
		after := strings.TrimLeft(s.rest, " \t")
		if !strings.HasPrefix(after, "=") {
			return word, "", scheme
		}
		after = after[1:]
		if trimmed := strings.TrimLeft(after, "="); trimmed != after || after == "" || after[0] == ',' {
			s.rest = trimmed // a token68 with its padding, "Negotiate abc==", or no value
			return word, "", parameter
		}
		s.rest = strings.TrimLeft(after, " \t")
		return word, s.value(), parameter
	}
}

// skip leaves out what can begin neither: a stray quoted string, or one character.
func (s *scanner) skip() {
	if s.rest[0] == '"' {
		s.value()
		return
	}
	s.rest = s.rest[1:]
}

// value reads a token or a quoted string; one that never ends is read to the end.
func (s *scanner) value() string {
	if !strings.HasPrefix(s.rest, `"`) {
		n := strings.IndexAny(s.rest, ", \t")
		if n < 0 {
			n = len(s.rest)
		}
		v := s.rest[:n]
		s.rest = s.rest[n:]
		return v
	}
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '\\' && i+1 < len(s.rest):
			i++
			b.WriteByte(s.rest[i])
		case c == '"':
			s.rest = s.rest[i+1:]
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	s.rest = ""
	return b.String()
}

// isTokenRune is a tchar of RFC 9110 section 5.6.2, and the two that a token68 has
// besides.
func isTokenRune(r rune) bool {
	return r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~/", r))
}
