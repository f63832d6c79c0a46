package child

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// typescript compiles code that is no JavaScript after its types are taken away. They
// are not checked; wrong is what the engine says. What is wrong with the code is said as esbuild says it, which is
// clearer than the engine.
func (c *child) typescript(code string, before int, wrong *quickjs.Error) (*script, *wire.Fault) {
	s := &script{offset: before}
	if nesting(code) > maxNesting {
		return nil, s.misspelled(wrong)
	}
	out := strip("async function script() { \"use strict\"; return (\n" + semicolons.ReplaceAllString(code, "") + "\n); }")
	if s.expression = len(out.Errors) == 0; !s.expression {
		out = strip("async function script() { \"use strict\";\n" + code + "\n}")
	}
	if len(out.Errors) > 0 {
		return nil, complaint(out.Errors[0], code, before)
	}
	s.lines = newLineMap(out.Map)
	above := strings.Repeat("\n", firstLine-2)
	var err error
	if s.main, err = c.evaluate(above + "(function () {\n" + string(out.Code) + "\nreturn script; })()"); err == nil {
		return s, nil
	}
	if wrong, ok := errors.AsType[*quickjs.Error](err); ok && wrong.Name == "SyntaxError" {
		return nil, s.misspelled(wrong)
	}
	return nil, c.failed(err, s)
}

// maxNesting is how deep brackets may nest in what esbuild gets: it recurses, and Go's
// stack ends the process where the engine throws.
const maxNesting = 1000

// nesting is how deep brackets nest, roughly: those in texts count, too.
func nesting(code string) (deepest int) {
	depth := 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{', '<':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}', '>':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// modules finds the statements of modules.
var modules = regexp.MustCompile(`^\s*(import|export)\s+[\w*{"']`)

func strip(code string) api.TransformResult {
	return api.Transform(code, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ES2023, Sourcemap: api.SourceMapExternal, Sourcefile: "script",
		LogLevel: api.LogLevelSilent, LogLimit: 1, TreeShaking: api.TreeShakingFalse,
	})
}

// misspelled is a syntax error of the engine.
func (s *script) misspelled(e *quickjs.Error) *wire.Fault {
	f := &wire.Fault{Kind: kindSyntax, Name: "SyntaxError", Message: e.Message}
	f.Line, f.Column = s.position(e.LineNumber, e.ColumnNumber)
	return f
}

// complaint is an error of esbuild, whose lines count from 1 and include the line
// of our own, and whose columns are bytes from 0. What is missing at the end is behind
// the code's last line.
func complaint(m api.Message, code string, before int) *wire.Fault {
	f := &wire.Fault{Kind: kindSyntax, Name: "SyntaxError", Message: m.Text}
	l := m.Location
	if l == nil || l.Line < 2 {
		return f
	}
	if modules.MatchString(l.LineText) {
		f.Message = "a script has no modules: neither import nor export, only tools"
	}
	lines := strings.Split(strings.TrimRight(code, "\r\n"), "\n")
	line, column := l.Line-1, utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))])+1
	if line > len(lines) {
		line, column = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
	}
	f.Line, f.Column = line+before, column
	return f
}
