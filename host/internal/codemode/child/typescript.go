package child

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// typescript compiles code that is no JavaScript after its types are taken away. They
// are not checked. What is wrong with the code is said as esbuild says it, which is
// clearer than the engine.
func (c *child) typescript(code string, before int) (*script, *wire.Fault) {
	s := &script{offset: before}
	out := strip("async function script() { \"use strict\"; return (\n" + semicolons.ReplaceAllString(code, "") + "\n); }")
	if s.expression = len(out.Errors) == 0; !s.expression {
		out = strip("async function script() { \"use strict\";\n" + code + "\n}")
	}
	if len(out.Errors) > 0 {
		return nil, misspelled(out.Errors[0], before)
	}
	s.lines = newLineMap(out.Map)
	above := strings.Repeat("\n", firstLine-2)
	var err error
	if s.main, err = c.evaluate(above + "(function () {\n" + string(out.Code) + "\nreturn script; })()"); err == nil {
		return s, nil
	}
	if wrong, ok := errors.AsType[*quickjs.Error](err); ok && wrong.Name == "SyntaxError" {
		f := &wire.Fault{Kind: kindSyntax, Name: wrong.Name, Message: wrong.Message}
		f.Line, f.Column = s.position(wrong.LineNumber, wrong.ColumnNumber)
		return nil, f
	}
	return nil, c.failed(err, s)
}

func strip(code string) api.TransformResult {
	return api.Transform(code, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ES2023, Sourcemap: api.SourceMapExternal, Sourcefile: "script",
		LogLevel: api.LogLevelSilent, LogLimit: 1, TreeShaking: api.TreeShakingFalse,
	})
}

// misspelled is an error of esbuild, whose lines count from 1 and include the line
// of our own, and whose columns are bytes from 0.
func misspelled(m api.Message, before int) *wire.Fault {
	f := &wire.Fault{Kind: kindSyntax, Name: "SyntaxError", Message: m.Text}
	if l := m.Location; l != nil && l.Line > 1 {
		f.Line = l.Line - 1 + before
		f.Column = utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))]) + 1
	}
	return f
}
