package codemode

import (
	"strings"
	"testing"
)

// Errors have the line and column of the script as it was written.
func TestPositions(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, c := range []struct {
		name, source string
		kind         Kind
		error        string // its name
		line, column int
		stack        string
	}{
		{"first line", `null.x`, KindScript, "TypeError", 1, 5, "    at script:1:5"},
		{"a function", "const f = () => {\n  throw new RangeError('x');\n};\nf();", KindScript, "RangeError", 2, 23, "    at f (script:2:23)\n    at script:4:2"},
		{"behind an await", "await tools.t.echo({});\n\n  missing();", KindScript, "ReferenceError", 3, 3, "    at script:3:3"},
		{"a tool that fails", "\nawait tools.t.fail({})", KindScript, "ToolError", 2, 19, "    at script:2:19"},
		{"a tool that fails in a function", "const f = async () => {\n  await tools.t.echo({});\n  return tools.t.fail({});\n};\nawait f()", KindScript, "ToolError", 3, 22, "    at f (script:3:22)"},
		{"a remark around a fence", "Here:\n\n```js\nnull.x\n```\nThat is it.", KindScript, "TypeError", 4, 5, "    at script:4:5"},
		{"a fence", "```js\nconst a = 1;\nnull.x\n```", KindScript, "TypeError", 3, 5, "    at script:3:5"},
		{"an arrow function", "async () => {\n  null.x\n}", KindScript, "TypeError", 2, 7, "    at script:2:7"},
		{"TypeScript", "interface A {\n  a: number\n}\n\nconst a: A = {a: 1};\nfunction g(x: A) {\n  throw new Error('x');\n}\ng(a);", KindScript, "Error", 7, 13, "    at g (script:7:13)\n    at script:9:1"},
		{"TypeScript in a fence", "```ts\nlet a: number = 1;\nnull.x\n```", KindScript, "TypeError", 3, 1, "    at script:3:1"},
		{"no JavaScript", "const a = 1;\nconst b = = 2;", KindSyntax, "SyntaxError", 2, 11, ""},
		{"no end", "const f = () => {\n  return 1;\n", KindSyntax, "SyntaxError", 2, 12, ""},
		{"an umlaut before it", "const ä = 'äöü' = ;", KindSyntax, "SyntaxError", 1, 19, ""},
		{"no JavaScript in a fence", "```js\nlet 1a;\n```", KindSyntax, "SyntaxError", 2, 6, ""},
		{"an import", "import fs from 'fs';\nreturn 1", KindSyntax, "SyntaxError", 1, 8, ""},
		{"nothing", " \n", KindSyntax, "SyntaxError", 0, 0, ""},
		{"a text that is thrown", "throw 'x'", KindScript, "", 0, 0, ""},
		{"nothing that is thrown", "throw undefined", KindScript, "", 0, 0, ""},
	} {
		out := run(t, r, Script{Source: c.source}, h)
		e := out.Error
		if e == nil {
			t.Errorf("%s: it completed with %s", c.name, out.Value)
			continue
		}
		if e.Kind != c.kind || e.Name != c.error || e.Line != c.line || e.Column != c.column || e.Stack != c.stack {
			t.Errorf("%s: %s %s at %d:%d, want %s %s at %d:%d: %s\n%s", c.name, e.Kind, e.Name, e.Line, e.Column, c.kind, c.error, c.line, c.column, e.Message, e.Stack)
		}
		if e.Message == "" || strings.Contains(e.Message, "<eval>") || strings.Contains(e.Stack, "<eval>") {
			t.Errorf("%s: %q %q", c.name, e.Message, e.Stack)
		}
	}
}

// A stack that a script looks at itself has no line of the prelude in it.
func TestStackInScript(t *testing.T) {
	out := run(t, newRunner(t), Script{Source: "\nconsole.error(new Error('x'));"}, newHost())
	if len(out.Console) != 1 || out.Console[0].Text != "Error: x\n    at script:2:24" {
		t.Errorf("%+v", out.Console)
	}
}
