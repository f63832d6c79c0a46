package clientfile

import (
	"path/filepath"
	"strings"
)

// asWritten is for clients that expand nothing.
func asWritten(_ *entry, text string) []piece { return []piece{{kind: literal, text: text}} }

// inBraces takes apart text with expressions between open and the next }. What
// read does not know stays text, as it does in the clients.
func inBraces(text, open string, read func(inner string) (piece, bool)) (pieces []piece) {
	lit := 0 // where the current literal begins
	for at := 0; ; {
		i := strings.Index(text[at:], open)
		if i < 0 {
			break
		}
		begin := at + i
		n := strings.IndexByte(text[begin:], '}')
		if n < 0 {
			break
		}
		end := begin + n + 1
		p, ok := read(text[begin+len(open) : end-1])
		if !ok {
			at = begin + len(open)
			continue
		}
		pieces = addLiteral(pieces, text[lit:begin])
		pieces = append(pieces, p)
		lit, at = end, end
	}
	return addLiteral(pieces, text[lit:])
}

// addLiteral adds text, to the piece before it when that is text too.
func addLiteral(pieces []piece, text string) []piece {
	if text == "" {
		return pieces
	}
	if n := len(pieces); n > 0 && pieces[n-1].kind == literal {
		pieces[n-1].text += text
		return pieces
	}
	return append(pieces, piece{kind: literal, text: text})
}

// claudeCodeSyntax: ${VAR} and ${VAR:-default}, nothing else (Claude Code docs,
// "Connect Claude Code to tools via MCP", environment variable expansion).
func claudeCodeSyntax(_ *entry, text string) []piece {
	return inBraces(text, "${", shellVariable)
}

func shellVariable(inner string) (piece, bool) {
	name, fallback, has := strings.Cut(inner, ":-")
	return piece{kind: variable, text: name, fallback: fallback, hasFallback: has}, isVariableName(name)
}

// geminiSyntax: $VAR, ${VAR} and ${VAR:-default} (Gemini CLI docs, "Gemini CLI
// configuration", environment variables in settings).
func geminiSyntax(e *entry, text string) (pieces []piece) {
	for _, p := range claudeCodeSyntax(e, text) {
		if p.kind != literal {
			pieces = append(pieces, p)
			continue
		}
		rest := p.text
		for {
			i := strings.IndexByte(rest, '$')
			if i < 0 {
				break
			}
			n := nameLength(rest[i+1:])
			if n == 0 {
				pieces = addLiteral(pieces, rest[:i+1])
				rest = rest[i+1:]
				continue
			}
			pieces = addLiteral(pieces, rest[:i])
			pieces = append(pieces, piece{kind: variable, text: rest[i+1 : i+1+n]})
			rest = rest[i+1+n:]
		}
		pieces = addLiteral(pieces, rest)
	}
	return pieces
}

// nameLength is the length of the variable name that text begins with; a number
// is none.
func nameLength(text string) int {
	n := 0
	for n < len(text) && isVariableName(text[:n+1]) {
		n++
	}
	return n
}

// vscodeSyntax: the ${...} of VS Code's configuration files (VS Code docs,
// "Variables reference" and "MCP configuration reference"). Cursor has a part of
// them (Cursor docs, "Model Context Protocol", config interpolation).
func vscodeSyntax(e *entry, text string) []piece {
	return inBraces(text, "${", e.editorVariable)
}

func (e *entry) editorVariable(inner string) (piece, bool) {
	kind, rest, _ := strings.Cut(inner, ":")
	text := func(s string) (piece, bool) { return piece{kind: literal, text: s}, true }
	unknown := piece{kind: elsewhere, text: inner}
	switch kind {
	case "env":
		return piece{kind: variable, text: rest}, rest != ""
	case "input", "config", "command":
		return unknown, rest != ""
	case "workspaceFolder", "workspaceRoot", "cwd", "workspaceFolderBasename":
		switch {
		case e.project == "" || rest != "": // of another folder of the workspace
			return unknown, true
		case kind == "workspaceFolderBasename":
			return text(filepath.Base(e.project))
		}
		return text(e.project)
	case "userHome":
		if e.r.around.Home == "" {
			return unknown, true
		}
		return piece{kind: homeDir}, true
	case "pathSeparator", "/":
		return text(string(filepath.Separator))
	}
	return piece{}, false
}

// windsurfSyntax: ${env:VAR} and ${file:/path} (Windsurf docs, "Cascade MCP
// integration", config interpolation), and ${VAR}, which it had before.
func windsurfSyntax(_ *entry, text string) []piece {
	return inBraces(text, "${", func(inner string) (piece, bool) {
		if p, ok := envOrFile(inner); ok {
			return p, true
		}
		return piece{kind: variable, text: inner}, isVariableName(inner)
	})
}

// opencodeSyntax: {env:VAR} and {file:path} (opencode docs, "Config", variables).
func opencodeSyntax(_ *entry, text string) []piece {
	return inBraces(text, "{", envOrFile)
}

func envOrFile(inner string) (piece, bool) {
	kind, rest, ok := strings.Cut(inner, ":")
	switch {
	case !ok || rest == "":
		return piece{}, false
	case kind == "env":
		return piece{kind: variable, text: rest}, true
	case kind == "file":
		return piece{kind: contents, text: rest}, true
	}
	return piece{}, false
}

// anySyntax is for files of clients that are not known: both usual spellings of
// a variable.
func anySyntax(e *entry, text string) []piece {
	return inBraces(text, "${", func(inner string) (piece, bool) {
		if p, ok := shellVariable(inner); ok {
			if _, editors := e.editorVariable(inner); !editors {
				return p, true
			}
		}
		return e.editorVariable(inner)
	})
}
