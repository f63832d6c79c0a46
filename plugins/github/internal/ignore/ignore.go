// Package ignore decides as git does which files .gitignore files leave out. It is
// written here because the libraries there are for it either know no nested files or
// stop at the first way to match "**"; a test holds it against git itself.
package ignore

import (
	"bytes"
	"path"
	"strings"
)

// Level is the rules of one directory and, behind them, of those above. A nil Level
// has none.
type Level struct {
	above *Level
	dir   string // "" is the top, else "a/b/"
	rules []rule
}

type rule struct {
	keep    bool // "!": what matches is not ignored
	dirOnly bool
	name    string   // matches the last part of a path; or
	parts   []string // match the path from dir on
}

// Below adds the .gitignore of a directory, given by its path from the top with
// slashes, "." for the top itself.
func (l *Level) Below(dir string, gitignore []byte) *Level {
	next := &Level{above: l}
	if dir != "." {
		next.dir = dir + "/"
	}
	gitignore = bytes.TrimPrefix(gitignore, []byte("\ufeff"))
	for line := range bytes.SplitSeq(gitignore, []byte("\n")) {
		if r, ok := parse(string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			next.rules = append(next.rules, r)
		}
	}
	return next
}

// Ignored says whether a path is left out, given that no directory above it is.
func (l *Level) Ignored(name string, isDir bool) bool {
	for ; l != nil; l = l.above {
		rest, below := strings.CutPrefix(name, l.dir)
		if !below {
			continue
		}
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].matches(rest, isDir) {
				return !l.rules[i].keep
			}
		}
	}
	return false
}

func parse(line string) (rule, bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return rule{}, false
	}
	if !strings.Contains(line, "/") {
		r.name = translated(line)
		return r, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(line, "/"), "/") {
		if n := len(r.parts); part == "**" && n > 0 && r.parts[n-1] == "**" {
			continue
		}
		if part != "**" {
			part = translated(part)
		}
		r.parts = append(r.parts, part)
	}
	return r, true
}

// trimSpaces drops spaces at the end, but not one behind a backslash.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		rest := line[:len(line)-1]
		if slashes := len(rest) - len(strings.TrimRight(rest, `\`)); slashes%2 == 1 {
			break
		}
		line = rest
	}
	return line
}

// classes are the POSIX classes as ranges.
var classes = strings.NewReplacer("[:alnum:]", "a-zA-Z0-9", "[:alpha:]", "a-zA-Z", "[:digit:]", "0-9", "[:lower:]", "a-z",
	"[:upper:]", "A-Z", "[:xdigit:]", "0-9a-fA-F", "[:space:]", " \t-\r", "[:blank:]", " \t")

// translated is a pattern for one part as package path writes it.
func translated(part string) string {
	part = classes.Replace(part)
	b := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		switch {
		case part[i] == '\\' && i+1 < len(part):
			b = append(b, part[i], part[i+1])
			i++
		case part[i] == '!' && i > 0 && part[i-1] == '[':
			b = append(b, '^')
		case part[i] == ']' && i > 0 && (part[i-1] == '[' || part[i-1] == '!' && i > 1 && part[i-2] == '['):
			b = append(b, `\]`...)
		default:
			b = append(b, part[i])
		}
	}
	return bytewise(string(b))
}

// bytewise makes each byte a character, as it is one for git: "?" does not match "é".
func bytewise(s string) string {
	b := make([]rune, 0, len(s))
	for i := range len(s) {
		b = append(b, rune(s[i]))
	}
	return string(b)
}

func (r rule) matches(name string, isDir bool) bool {
	name = bytewise(name)
	switch {
	case r.dirOnly && !isDir:
		return false
	case r.parts == nil:
		ok, _ := path.Match(r.name, path.Base(name)) // what is no pattern matches nothing
		return ok
	}
	return match(r.parts, strings.Split(name, "/"))
}

func match(pattern, name []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if len(pattern) == 1 {
		return len(name) > 0 // everything inside
	}
	for i := range name {
		if match(pattern[1:], name[i:]) {
			return true
		}
	}
	return false
}
