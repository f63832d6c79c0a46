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

var (
	fence = regexp.MustCompile("(?s)^(\\s*```[a-zA-Z]*[ \\t]*\\r?\\n)(.*?)\\r?\\n?[ \\t]*```\\s*$")
	// semicolons at the end of what may be an expression
	semicolons = regexp.MustCompile(`[;\s]+$`)
)

// unfence returns the code in a Markdown fence, if the source is one, and how many
// lines are before it.
func unfence(source string) (code string, before int) {
	source = strings.TrimPrefix(source, "\ufeff")
	if m := fence.FindStringSubmatch(source); m != nil && !strings.Contains(m[2], "\n```") {
		return m[2], strings.Count(m[1], "\n")
	}
	return source, 0
}

// compile makes a function of a source. A script that is one expression is worth its
// value, and if that is a function, that of calling it: so an arrow function and
// "async function run() {...}" run. Any other is the body of an async function. What
// the engine does not take as JavaScript is tried as TypeScript.
func (c *child) compile(source string) (*script, *wire.Fault) {
	code, before := unfence(source)
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
