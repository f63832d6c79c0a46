package clientfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// piece is a part of a value: text as it is, or something the client puts in its
// place.
type piece struct {
	kind pieceKind
	// text is the literal text, the variable's name, the file's path, or what the
	// client called it ("input:token").
	text string
	// fallback is text that stands in for a variable that is not set.
	fallback    string
	hasFallback bool
}

type pieceKind int

const (
	literal   pieceKind = iota
	variable            // of the environment
	contents            // of a file
	homeDir             // the home directory
	elsewhere           // what only the client knows
)

// syntax takes a value apart.
type syntax func(e *entry, text string) []piece

// value is a text of the file in the syntax of mcp.toml, where config.Resolve
// makes of it what the client made of the original. secret is whether it is one of
// the values in which a leading ! means something there (env, headers).
func (e *entry) value(where, text string, secret bool) string {
	pieces := e.r.syntax(e, text)
	for _, p := range pieces {
		if p.kind == contents {
			return e.withFiles(where, pieces, secret)
		}
	}
	return e.render(where, pieces, secret)
}

func (e *entry) render(where string, pieces []piece, secret bool) string {
	var b strings.Builder
	for i, p := range pieces {
		switch p.kind {
		case literal:
			if i == 0 && secret && strings.HasPrefix(p.text, "!") {
				b.WriteByte('!')
			}
			b.WriteString(escape(p.text))
		case homeDir:
			if i == 0 && beginsPath(pieces[1:]) {
				b.WriteByte('~')
			} else {
				b.WriteString(escape(e.r.around.Home))
			}
		case variable:
			b.WriteString(e.variable(where, p))
		default:
			b.WriteString(e.unknown(where, p))
		}
	}
	out := b.String()
	// Nothing in mcp.toml can spell a ~ in front that stays one. None of the
	// clients expands it, and a server that is given it mostly does.
	if len(pieces) > 0 && pieces[0].kind == literal {
		bare := out
		if secret {
			bare = strings.TrimPrefix(out, "!!")
		}
		if bare == "~" || strings.HasPrefix(bare, "~/") {
			e.note("%s begins with ~, which mcp.toml replaces by the home directory", quote(where))
		}
	}
	return out
}

// beginsPath reports whether a ~ before rest is the home directory in mcp.toml.
func beginsPath(rest []piece) bool {
	return len(rest) == 0 || rest[0].kind == literal && strings.HasPrefix(rest[0].text, "/")
}

// escape writes text so that nothing in it is expanded, a ~ in front apart.
func escape(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// variable is ${NAME} or ${NAME:-fallback}.
func (e *entry) variable(where string, p piece) string {
	name := variableName(p.text)
	if name != p.text {
		e.note("%s: %s cannot be the name of a variable in mcp.toml; set %s instead", quote(where), quote(p.text), name)
	}
	switch {
	case !p.hasFallback:
		return "${" + name + "}"
	case strings.Contains(p.fallback, "}"):
		e.note("%s: the default of %s holds a } and is left out; set %s", quote(where), name, name)
		return "${" + name + "}"
	case p.fallback == "~" || strings.HasPrefix(p.fallback, "~/"):
		e.note("%s: the default of %s begins with ~, which mcp.toml replaces by the home directory", quote(where), name)
	}
	return "${" + name + ":-" + escape(p.fallback) + "}"
}

// unknown is a variable in the place of what only the client can say.
func (e *entry) unknown(where string, p piece) string {
	name := variableName(strings.ToUpper(p.text))
	what := ""
	if id, ok := strings.CutPrefix(p.text, "input:"); ok {
		in := e.r.inputs[id]
		if in.description != "" {
			what = " (" + quote(in.description) + ")"
		}
		p.fallback, p.hasFallback = in.fallback, in.fallback != ""
	}
	e.note("%s: %s%s is something that only %s can fill in; set the variable %s", quote(where), quote("${"+p.text+"}"), what, e.r.Client.Title, name)
	p.text = name
	return e.variable(where, p)
}

// variableName is text as a variable's name: [A-Za-z_][A-Za-z0-9_]*.
func variableName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

func isVariableName(text string) bool { return text != "" && variableName(text) == text }

// withFiles is a value that holds the contents of files: a command that prints it,
// in the values that may be one.
func (e *entry) withFiles(where string, pieces []piece, secret bool) string {
	simple := secret
	for _, p := range pieces {
		simple = simple && (p.kind == literal || p.kind == contents)
	}
	if !simple {
		for i := range pieces {
			if pieces[i].kind == contents {
				pieces[i] = piece{kind: elsewhere, text: "file:" + filepath.Base(pieces[i].text)}
			}
		}
		return e.render(where, pieces, secret)
	}
	if len(pieces) == 1 {
		return "!cat -- " + shellQuote(e.filePath(pieces[0].text))
	}
	var b strings.Builder
	b.WriteString("!printf %s") // which printf repeats for every word after it
	for _, p := range pieces {
		if p.kind == literal {
			b.WriteString(" " + shellQuote(p.text))
		} else {
			fmt.Fprintf(&b, ` "$(cat -- %s)"`, shellQuote(e.filePath(p.text)))
		}
	}
	return b.String()
}

// filePath is where the client would find the file that a value names.
func (e *entry) filePath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && e.r.around.Home != "" {
		return filepath.Join(e.r.around.Home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(e.r.Path), path)
}

func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
