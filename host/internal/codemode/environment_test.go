package codemode

import "testing"

// The environment of a script, one line of JavaScript at a time.
func TestEnvironment(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, c := range []struct{ source, want string }{
		{`return 1`, `1`},
		{`return`, ``},
		{`return await tools.t.echo({a: 1})`, `{"a":1}`},
		{`return await tools["my-server"]["read-file"]()`, `"a file"`},
		{`return await tools.my_server.read_file({})`, `"a file"`},
		{`return await tools.my_server.read_file.raw({})`, `{"content":[{"type":"text","text":"a file"}]}`},
		{`return await call("t/echo", {b: [true, null]})`, `{"b":[true,null]}`},
		{`return Object.keys(tools)`, `["t","my_server","late"]`},
		{`return Object.keys(tools.t)`, `["echo","wait","fail","break","result"]`},
		{`return "echo" in tools.t && !("x" in tools.t)`, `true`},
		{`return (await Promise.all([1, 2, 3].map((n) => tools.t.echo({n})))).map((v) => v.n)`, `[1,2,3]`},
		{`async () => tools.t.echo({c: 2})`, `{"c":2}`},
		{"async function run() {\n  return 7;\n}\n", `7`},
		{"```js\nreturn 8\n```", `8`},
		{`tools.t.echo({d: 1});`, `{"d":1}`},
		{`const x: number = 9; return x as number`, `9`},
		{`async (a: string): Promise<number> => { return 10 }`, `10`},
	} {
		mustReturn(t, r, h, c.source, c.want)
	}
}
