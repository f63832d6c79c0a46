package child

import (
	"errors"
	"regexp"
	"strings"

	"modernc.org/quickjs"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// script is a compiled script.
type script struct {
	main       quickjs.Value // an async function
	expression bool          // main gives the value of the one expression that the script is
	offset     int           // lines of the source before the code: those of a fence
	lines      *lineMap      // of code that was made from TypeScript; nil is none
}

// semicolons at the end of what may be an expression
var semicolons = regexp.MustCompile(`[;\s]+$`)

// fence is a line that begins or ends a block of code in Markdown. No line of a script
// begins like this, but in a comment.
var fence = regexp.MustCompile("(?m)^[ \\t]*```([^`\\n]*)$\\n?")

// unfence returns the code in a Markdown fence, if the source has one, and how many
// lines are before it. What else is around it is taken for a remark. With several
// there is no telling which one it is.
func unfence(source string) (code string, before int, several bool) {
	source = strings.TrimPrefix(source, "\ufeff")
	lines := fence.FindAllStringSubmatchIndex(source, 3)
	if len(lines) < 2 || strings.Contains(source[:lines[0][0]], "/*") || strings.TrimSpace(source[lines[1][2]:lines[1][3]]) != "" {
		return source, 0, false
	}
	if len(lines) > 2 {
		return source, 0, true
	}
	head := source[:lines[0][1]]
	code = source[lines[0][1]:lines[1][0]]
	return strings.TrimSuffix(strings.TrimSuffix(code, "\n"), "\r"), strings.Count(head, "\n"), false
}

// compile makes a function of a source. A script that is one expression is worth its
// value, and if that is a function, that of calling it: so an arrow function and
// "async function run() {...}" run. Any other is the body of an async function. What
// the engine does not take as JavaScript is tried as TypeScript.
func (c *child) compile(source string) (*script, *wire.Fault) {
	code, before, several := unfence(source)
	if several {
		return nil, &wire.Fault{Kind: kindSyntax, Name: "SyntaxError", Message: "there are several blocks of code; a script is one"}
	}
	s := &script{offset: before}
	if strings.TrimSpace(code) == "" {
		return nil, &wire.Fault{Kind: kindSyntax, Name: "SyntaxError", Message: "the script is empty"}
	}
	above := strings.Repeat("\n", firstLine-2)
	var err error
	if s.main, err = c.evaluate(above + "(async function () { \"use strict\"; return (\n" + semicolons.ReplaceAllString(code, "") + "\n); })"); err == nil {
		s.expression = true
		return s, nil
	}
	if s.main, err = c.evaluate(above + "(async function () { \"use strict\";\n" + code + "\n})"); err == nil {
		return s, nil
	}
	var wrong *quickjs.Error
	if !errors.As(err, &wrong) || wrong.Name != "SyntaxError" {
		return nil, c.failed(err, s)
	}
	return c.typescript(code, before, wrong)
}

func (c *child) evaluate(code string) (quickjs.Value, error) {
	return c.engine.vm.EvalValue(code, quickjs.EvalGlobal)
}
