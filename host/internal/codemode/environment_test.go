package codemode

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The environment of a script, one line at a time.
func TestEnvironment(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, c := range []struct{ source, want string }{
		{`return 1`, `1`},
		{`return`, ``},
		{`return null`, `null`},
		{`return {"<a>&": await tools.t.echo({b: "<b>&\u2028"})}`, "{\"<a>&\":{\"b\":\"<b>&\u2028\"}}"},
		{`return await tools.t.echo({a: 1})`, `{"a":1}`},
		{`return await tools["my-server"]["read-file"]()`, `"a file"`},
		{`return await tools.my_server.read_file({})`, `"a file"`},
		{`return await tools.my_server.read_file.raw({})`, `{"content":[{"type":"text","text":"a file"}]}`},
		{`return await tools.t.fail.raw({})`, `{"content":[{"type":"text","text":"no such thing"}],"isError":true}`},
		{`return await call("t/echo", {b: [true, null]})`, `{"b":[true,null]}`},
		{`return (await call("t/echo", {}, {raw: true})).structuredContent`, `{}`},
		{`return await call("late/anything", {}).catch((e) => e.code)`, `"not_found"`},
		{`return await tools.late.anything({}).catch((e) => [e.code, e.tool, e.name, e instanceof ToolError, e instanceof Error, e.retryable])`,
			`["not_found","late/anything","ToolError",true,true,false]`},
		{`return await tools.t.break().catch((e) => [e.code, e.message, e.details, e.retryable])`, `["disconnected","the server crashed",{"class":"connection-refused"},true]`},
		{`return await tools.t.fail().catch((e) => [e.code, e.message, e.details.content.length])`, `["tool_error","no such thing",1]`},
		{`return Object.keys(tools)`, `["t","my_server","late"]`},
		{`return Object.keys(tools.t)`, `["echo","wait","fail","break","result"]`},
		{`return "echo" in tools.t && !("x" in tools.t)`, `true`},
		{`return Object.entries(tools.my_server).map(([k, v]) => k + typeof v)`, `["read_filefunction"]`},
		{`await tools; await tools.t; return String(await tools.t.then)`, `"undefined"`},
		{`return (await Promise.all([1, 2, 3].map((n) => tools.t.echo({n})))).map((v) => v.n)`, `[1,2,3]`},
		{`return await searchTools("x", {server: "t", limit: 3})`, `[{"name":"t/echo","query":"x","server":"t","limit":3}]`},
		{`return await describeTool("t/echo", "t/wait")`, `"declare: t/echo,t/wait"`},
		{`return await describeServer("t")`, `{"name":"t","tools":["echo"]}`},
		{`text("a"); exit({b: 1}); return 2`, `{"b":1}`},
		{`try { exit(3) } catch {} finally { text("no") } return 2`, `3`},
		{`const f = async () => { await tools.t.echo({}); exit() }; f(); await new Promise(() => {})`, ``},
		{`return [new Date(0).getTimezoneOffset(), new Date(2026, 0, 1).toISOString()]`, `[0,"2026-01-01T00:00:00.000Z"]`},
		{`return [typeof setTimeout, typeof WeakRef, typeof FinalizationRegistry, typeof SharedArrayBuffer, typeof require, typeof process, typeof fetch, typeof std, typeof os]`,
			`["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
		{`return Object.getOwnPropertyNames(globalThis).filter((n) => n.includes(":"))`, `[]`},
		{`class E extends Error { constructor() { super("m"); this.name = "E"; this.message = "n"; } toString() { return "s"; } } const e = new E(); return [e.name, e.message, String(e), e instanceof E]`,
			`["E","n","s",true]`},
		{`const o = {}; o.toString = () => "x"; o.constructor = 1; return String(o) + o.constructor`, `"x1"`},
		{`return JSON.stringify({a: new Map([["k", 1n]]), b: new Set([1]), c: 12345678901234567890n})`, `"{\"a\":{\"k\":1},\"b\":[1],\"c\":12345678901234567890}"`},
		{`return {m: new Map([["__proto__", 1]]), d: new Date(0), u: undefined, f() {}, n: NaN}`, `{"m":{"__proto__":1},"d":"1970-01-01T00:00:00.000Z","n":null}`},
		{`return await (async function* () { yield 1 })().next()`, `{"value":1,"done":false}`},
		{`for await (const x of [tools.t.echo({a: 1})]) return x`, `{"a":1}`},
		// Errors as values.
		{`return [new RangeError("r"), Object.assign(new Error("e"), {a: 1})]`, `[{"name":"RangeError","message":"r"},{"name":"Error","message":"e","a":1}]`},
		{`const [r] = await Promise.allSettled([tools.t.break()]); return r.reason`,
			`{"name":"ToolError","message":"the server crashed","tool":"t/break","code":"disconnected","details":{"class":"connection-refused"},"retryable":true}`},
		{`console.group("a"); console.time("b"); console.timeEnd("b"); console.assert(true); console.count(); console.groupEnd(); return 1`, `1`},
		// One expression is worth its value; a function is called.
		{`async () => tools.t.echo({c: 2})`, `{"c":2}`},
		{`(args) => args ?? "nothing"`, `"nothing"`},
		{"async function run() {\n  return 7;\n}\n", `7`},
		{"// it runs\nasync function run() {\n  return 7;\n}\n// that was it", `7`},
		{"```js\nreturn 8\n```", `8`},
		{"```typescript\nasync () => {\n  const x: number = 1;\n  return x;\n}\n```", `1`},
		{`tools.t.echo({d: 1});`, `{"d":1}`},
		{`(async () => { return 5 })()`, `5`},
		// TypeScript.
		{`const x: number = 9; return x as number`, `9`},
		{`async (a: string): Promise<number> => { return 10 }`, `10`},
		{`interface A { a: number } enum B { C = 3 } const a = <A>{a: B.C}; return a!.a satisfies number`, `3`},
		{`type T = {a?: string}; function f<X>(x: X): X { return x } return f<T>({a: "b"})`, `{"a":"b"}`},
	} {
		mustReturn(t, r, h, c.source, c.want)
	}
}

// A name that does not exist is a TypeError with what comes close.
func TestMissingMembers(t *testing.T) {
	r, h := newRunner(t), newHost()
	for source, want := range map[string]string{
		`tools.t.ecko({})`:                      "tools.t.ecko does not exist. Did you mean tools.t.echo?",
		`tools.my_servre.read_file()`:           "tools.my_servre does not exist. Did you mean tools.my_server?",
		`tools["my-server"].readFile({})`:       "tools.my_server.readFile does not exist. Did you mean tools.my_server.read_file?",
		`tools.t["a b"]()`:                      `tools.t["a b"] does not exist. Object.keys(tools.t) has what there is.`,
		`tools.zzzzzzzzzzzz.x()`:                "tools.zzzzzzzzzzzz does not exist. Object.keys(tools) has what there is.",
		`tools.t.echo = 1; return 1`:            "tools.t.echo cannot be assigned",
		`delete tools.t.echo; return 1`:         "tools.t.echo cannot be deleted",
		`call("echo", {})`:                      `call takes a tool's name first: "server/tool"`,
		`describeTool(1)`:                       "describeTool takes a name, as a string",
		`searchTools()`:                         "searchTools takes a query, as a string",
		`call("t/echo", {}, {timeout_ms: "1"})`: "timeout_ms is a number of milliseconds, at least 1",
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Name != "TypeError" || out.Error.Message != want {
			t.Errorf("%s\n%+v, want %q", source, out.Error, want)
		}
	}
}

// Arguments that are no object are refused before anything is sent.
func TestArguments(t *testing.T) {
	r, h := newRunner(t), newHost()
	for source, want := range map[string]Code{
		`await tools.t.echo("x")`:                      CodeArguments,
		`await tools.t.echo([1])`:                      CodeArguments,
		`await tools.t.echo(null)`:                     CodeArguments,
		`await tools.t.echo(new Date())`:               CodeArguments,
		`const a = {}; a.a = a; await tools.t.echo(a)`: CodeArguments,
		`await tools.t.echo({a: "x".repeat(1100000)})`: CodeLimit,
		`await tools.t.echo({a: "ä".repeat(1000000)})`: CodeLimit, // two bytes each
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Code != want {
			t.Errorf("%s\n%+v, want %s", source, out.Error, want)
		}
	}
	if n := h.made.Load(); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// What the script does to its arguments after a call changes nothing.
func TestArgumentsAreTaken(t *testing.T) {
	mustReturn(t, newRunner(t), newHost(), `const a = {n: 1}; const p = tools.t.echo(a); a.n = 2; return await p`, `{"n":1}`)
}

func TestArgs(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, c := range []struct{ source, args, want string }{
		{`return args`, `{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
		{`return args.id + 1n`, `{"id":12345678901234567890}`, `12345678901234567891`},
		{`({id}) => id`, `{"id":5}`, `5`},
	} {
		out := run(t, r, Script{Source: c.source, Args: json.RawMessage(c.args)}, h)
		if string(out.Value) != c.want {
			t.Errorf("%s: %s %+v", c.source, out.Value, out.Error)
		}
	}
}

// A script with the same ID and the same answers does the same.
func TestDeterministic(t *testing.T) {
	r, h := newRunner(t), newHost()
	source := `return [Math.random(), Math.random(), Date.now(), new Date().toISOString(), Date().length > 0, Date.prototype.constructor === Date, new Date() instanceof Date]`
	s := Script{Source: source, ID: "call-1", Deterministic: true, Now: time.UnixMilli(1_700_000_000_000)}
	one, two := run(t, r, s, h), run(t, r, s, h)
	if string(one.Value) != string(two.Value) || !strings.HasSuffix(string(one.Value), `,1700000000000,"2023-11-14T22:13:20.000Z",true,true,true]`) {
		t.Errorf("%s\n%s\n%+v", one.Value, two.Value, one.Error)
	}
	s.ID = "call-2"
	if other := run(t, r, s, h); string(other.Value) == string(one.Value) {
		t.Errorf("another script has the same numbers: %s", other.Value)
	}
	mustReturn(t, r, h, `const a = Array.from({length: 1000}, Math.random); return [a.every((x) => x >= 0 && x < 1), new Set(a).size, Math.abs(a.reduce((x, y) => x + y) / 1000 - 0.5) < 0.1]`, `[true,1000,true]`)
	mustReturn(t, r, h, `return Math.abs(Date.now() - `+json.Number(jsonMillis()).String()+`) < 60000`, `true`)
}

func jsonMillis() string {
	b, _ := json.Marshal(time.Now().UnixMilli())
	return string(b)
}

// What is thrown is told, whatever it is.
func TestThrown(t *testing.T) {
	r, h := newRunner(t), newHost()
	for source, want := range map[string]string{
		`throw null`:                   "the script threw null",
		`throw undefined`:              "the script threw undefined",
		`throw 42`:                     "the script threw 42",
		`throw {a: 1}`:                 `the script threw {"a":1}`,
		`await Promise.reject(null)`:   "the script threw null",
		`throw new Error("a\u0000b")`:  "a\x00b",
		`throw Object.freeze(Error())`: "",
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Kind != KindScript || out.Error.Message != want {
			t.Errorf("%s\n%+v, want %q", source, out.Error, want)
		}
	}
	for source, want := range map[string][]string{
		`await Promise.any([Promise.reject(new Error("one")), tools.t.fail({})])`: {"Error: one", "ToolError: no such thing"},
		`throw new Error("outer", {cause: new RangeError("inner")})`:              {"outer\ncaused by RangeError: inner"},
	} {
		out := run(t, r, Script{Source: source}, h)
		for _, w := range want {
			if out.Error == nil || out.Error.Kind != KindScript || !strings.Contains(out.Error.Message, w) {
				t.Errorf("%s\n%+v, want %q", source, out.Error, w)
			}
		}
	}
}

// What looks like a module is told what it is not.
func TestNoModules(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, source := range []string{"import fs from 'fs';\nreturn 1", "const a = 1;\nimport {b} from \"c\";", "import type { X } from 'y'", "export default async function () { return 1 }", "export const a: number = 1"} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Kind != KindSyntax || !strings.Contains(out.Error.Message, "no modules") {
			t.Errorf("%s\n%+v", source, out.Error)
		}
	}
	out := run(t, r, Script{Source: "```js\nreturn 1\n```\nor\n```js\nreturn 2\n```"}, h)
	if out.Error == nil || out.Error.Kind != KindSyntax || !strings.Contains(out.Error.Message, "several blocks") {
		t.Errorf("%+v", out.Error)
	}
}
