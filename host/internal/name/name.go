// Package name is the grammar of names: a tool is "<server>/<tool>" wherever a
// person reads it (its canonical name), has one wire name, of letters, digits,
// "_" and "-", toward model clients, and one identifier in scripts. It checks
// server names, spells wire names and identifiers, looks the former up again in
// a table, and suggests near misses.
//
// It is pure: it reads no file, knows no configuration and no server, and it
// never recovers a name by taking another apart, except for the one split of a
// canonical name at its first slash.
package name

import (
	"errors"
	"fmt"
	"strings"
)

// MaxServer is the longest server name in bytes (docs/configuration.md). It leaves a
// wire name at least 21 bytes of the tool's own name when it has to be shortened.
const MaxServer = 32

// Split takes a canonical name apart at its first slash; tool names may hold
// slashes, server names may not. It is not ok when there is no slash or nothing
// on one side of it. It does not check the server's name.
func Split(canonical string) (server, tool string, ok bool) {
	server, tool, ok = strings.Cut(canonical, "/")
	if !ok || server == "" || tool == "" {
		return "", "", false
	}
	return server, tool, true
}

// Join returns the canonical name of a server's tool.
func Join(server, tool string) string { return server + "/" + tool }

// CheckServer says what is wrong with a server name, as a sentence that goes on
// after "server "NAME": ", or returns nil. A name is 1 to 32 letters, digits, "_"
// and "-" of ASCII, begins and ends with a letter or digit, and has no "__":
// the first "__" of a wire name is then always the end of the server's name,
// which is what makes wire names of different servers different.
func CheckServer(name string) error {
	if name == "" {
		return errors.New("the name is empty; use letters, digits, - and _")
	}
	for _, r := range name {
		if !isWire(r) {
			return fmt.Errorf("the name holds %q; use letters, digits, - and _ only", r)
		}
	}
	switch {
	case len(name) > MaxServer:
		return fmt.Errorf("the name is %d characters long; at most %d are allowed", len(name), MaxServer)
	case !isAlnum(name[0]):
		return fmt.Errorf("the name begins with %q; it has to begin with a letter or a digit", name[0])
	case !isAlnum(name[len(name)-1]):
		return fmt.Errorf("the name ends with %q; it has to end with a letter or a digit", name[len(name)-1])
	case strings.Contains(name, "__"):
		return errors.New(`the name holds "__", which separates server and tool in wire names; use a single _`)
	}
	return nil
}

// SameServer reports whether two server names are equal or differ only in case or
// in "-" against "_". Two such servers are refused side by side: people and model
// clients take one for the other.
func SameServer(a, b string) bool { return Fold(a) == Fold(b) }

// Fold maps the spellings that people mix up to one: two server names are the same
// for SameServer exactly when their folds are equal.
func Fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

func isAlnum(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// isWire reports whether r may stand in a wire name.
func isWire(r rune) bool {
	return r == '_' || r == '-' || r < 0x80 && isAlnum(byte(r))
}
