package name

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxIdentifier is the longest identifier in bytes before its hash: what MCP
// 2026-07-28 allows for the name of a tool (server/tools).
const maxIdentifier = 128

// Identifiers returns how scripts spell the tools of one server behind its own
// identifier: create_repository in tools.github.create_repository. It is keyed by
// the names as the server writes them; names that occur twice count once, and
// the order does not matter.
//
// An identifier is the name in NFC with "_" for each character that cannot stand
// in one, and with a "_" in front when it begins with a digit or a mark. Case is
// kept. Letters and digits of all scripts stay, since a name in Chinese would
// otherwise be underscores and nothing else. So do reserved words: JavaScript
// takes them behind a dot.
//
// Where names of one server have the same identifier, every one of them gets "_"
// and 8 hex digits of the SHA-256 of its canonical name: read-file and read_file
// both do, so that neither is taken for the other. So does a name whose
// identifier would be longer than 128 bytes, which is cut, and one that Implicit
// reports.
//
// No identifier is the name of another tool, and so a property that is looked up
// among identifiers and names together leads to one tool.
func Identifiers(server string, tools []string) map[string]string {
	return identifiers(tools, func(tool string) string { return Join(server, tool) })
}

// ServerIdentifiers is Identifiers for the names of servers: my_server in
// tools.my_server. A hash is that of the server's name.
func ServerIdentifiers(servers []string) map[string]string {
	return identifiers(servers, func(server string) string { return server })
}

// Implicit reports whether JavaScript itself looks the property up on an object:
// await and return ask for then, JSON.stringify for toJSON, and so on. A tool or
// server of that name is no property of its own, or it would be called by
// accident; it is reached under its identifier, and through call().
func Implicit(property string) bool {
	switch property {
	case "then", "toJSON", "toString", "toLocaleString", "valueOf",
		"constructor", "prototype", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
		"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__":
		return true
	}
	return false
}

func identifiers(names []string, hashed func(string) string) map[string]string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)

	taken := make(map[string]bool, 2*len(names)) // by a name, or by an identifier given out
	claims := make(map[string]int, len(names))
	for _, n := range names {
		taken[n] = true
		claims[identifier(n)]++
	}
	given := make(map[string]string, len(names))
	var altered []string
	for _, n := range names {
		id := identifier(n)
		if claims[id] > 1 || len(id) > maxIdentifier || Implicit(id) || id != n && taken[id] {
			altered = append(altered, n)
			continue
		}
		given[n], taken[id] = id, true
	}
	for _, n := range altered {
		id := clip(identifier(n), maxIdentifier)
		// More than one round only where another tool has been given the result as
		// its name.
		for round := 0; ; round++ {
			text := hashed(n)
			if round > 0 {
				text += "#" + strconv.Itoa(round)
			}
			sum := sha256.Sum256([]byte(text))
			with := id + "_" + hex.EncodeToString(sum[:])[:hashDigits]
			if !taken[with] {
				given[n], taken[with] = with, true
				break
			}
		}
	}
	return given
}

// identifier is the identifier of a name that no other has to be told from.
func identifier(name string) string {
	// Only what can matter is looked at: names come from strangers.
	name = norm.NFC.String(clip(name, 4*maxIdentifier))
	var b strings.Builder
	for _, r := range name {
		start, part := isIdentifier(r)
		switch {
		case !part:
			r = '_'
		case !start && b.Len() == 0:
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// IsIdentifier reports whether s can stand behind a dot in JavaScript as it is,
// reserved words included.
func IsIdentifier(s string) bool {
	for i, r := range s {
		start, part := isIdentifier(r)
		if !part || i == 0 && !start {
			return false
		}
	}
	return s != ""
}

// isIdentifier says whether r may begin an identifier of ECMAScript, and whether
// it may stand in one (ECMA-262 section 12.7). It leaves out the few characters
// that are letters by exception only, and the invisible joiners.
func isIdentifier(r rune) (start, part bool) {
	switch {
	case r < 0x80:
		start = r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return start, start || '0' <= r && r <= '9'
	case r == 0x2E2F: // a letter that is syntax by UAX #31
		return false, false
	case unicode.IsLetter(r):
		return true, true
	}
	return false, unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd)
}

// clip is the beginning of s of at most max bytes, cut between characters.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && s[max]&0xC0 == 0x80 {
		max--
	}
	return s[:max]
}
