package declare_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host/internal/codemode/declare"
	"github.com/collet-dev/collet/host/internal/name"
)

// compile has the compiler of TypeScript check the files, as strict as it is.
func compile(t *testing.T, files map[string]string) {
	t.Helper()
	tsc := compiler(t)
	dir := t.TempDir()
	args := []string{filepath.Join("node_modules", "typescript", "bin", "tsc"), "--strict", "--noEmit", "--pretty", "false",
		"--target", "es2023", "--lib", "es2023", "--module", "esnext", "--moduleDetection", "force", "--types", ""}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = tsc
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// compiler is the directory with node_modules that `make servers` installs. Where
// COLLET_NPM_DIR says that it is there, it must be.
func compiler(t *testing.T) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", "..", "..", ".cache", "npm")
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "typescript"))
	}
	if err != nil && !must {
		t.Skipf("no TypeScript from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no packages from npm: %v", err)
	}
	return dir
}

// tool is a tool with its identifiers where there is no other.
func tool(server, tool, input, output string) declare.Tool {
	return declare.Tool{
		Server: server, Name: tool, Input: []byte(input), Output: []byte(output),
		ServerIdentifier: name.ServerIdentifiers([]string{server})[server], Identifier: name.Identifiers(server, []string{tool})[tool],
	}
}

// What is declared of odd and of hostile schemas compiles, in a file of its own and
// in one for editors.
func TestDeclarationsCompile(t *testing.T) {
	files := map[string]string{}
	var all []declare.Tool
	for i, schema := range declare.OddSchemas() {
		odd := tool("odd-"+fmt.Sprint(i%7), fmt.Sprint(i, " odd/", i), schema, schema)
		odd.Description = "*/ @ts-expect-error\n@ts-ignore"
		all = append(all, odd)
		files[fmt.Sprintf("odd%d.ts", i)] = declare.Declaration(odd, declare.Limit)
	}
	for _, n := range []string{"new", "delete", "constructor", "then", "__proto__", "查询", "\u2e2f", "a\nb", "*/"} {
		all = append(all, tool("names", n, `{}`, ``))
	}
	golden, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range golden {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("golden%d.ts", i)] = declare.Declarations(declare.ToolsOf(b), declare.Limit)
	}
	files["names.ts"] = declare.Declarations(all, declare.MinLimit)
	files["collet.d.ts"] = declare.Ambient(all, declare.Limit)
	compile(t, files)
}

// A script that uses tools as they are declared compiles; each mistake is found.
func TestScriptsCompile(t *testing.T) {
	create := tool("github", "create_issue", `{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},
		"state":{"enum":["open","closed"]},"id":{"type":"integer","format":"int64"}},"required":["title"]}`,
		`{"type":"object","properties":{"number":{"type":"integer"},"url":{"type":"string"}},"required":["number"]}`)
	list := tool("my-files", "list-all", `{"type":"object","properties":{}}`, ``)
	compile(t, map[string]string{
		"collet.d.ts": declare.Ambient([]declare.Tool{create, list}, declare.Limit),
		"right.ts": `
const issue = await tools.github.create_issue({ title: "x", labels: ["a"], state: "open", id: 12345678901234567890n });
const next: number = issue.number + 1;
const url: string | undefined = issue.url;
const listed: unknown = await tools.my_files.list_all();
await tools["my-files"]["list-all"]({});
const same: number = (await call("github/create_issue", { title: "x" }, { timeout_ms: 1000 })).number;
const nothing: unknown = await call("my-files/list-all");
const whole = await tools.github.create_issue.raw({ title: "x" });
const also = await call("github/create_issue", { title: "x" }, { raw: true });
for (const block of [...whole.content, ...also.content]) {
  if (block.type === "text") text(block.text);
  else if (block.type === "image") image({ data: block.data, mimeType: block.mimeType });
}
try {
  await Promise.all([1, 2].map((n) => tools.github.create_issue({ title: String(n) })));
} catch (error) {
  if (error instanceof ToolError && error.code === "not_found" && !error.retryable) console.log(error.tool, error.details);
  else throw error;
}
const found = await searchTools("issue", { server: "github", limit: 3 });
text(await describeTool("github/create_issue", ...found.map((tool) => tool.name)));
const { instructions, tools: names } = await describeServer("github");
store("seen", { instructions, names, args });
const seen = load("seen");
if (seen.names.length === 0) exit({ next, url, listed, same, nothing });
`,
		"wrong.ts": `
// @ts-expect-error: a wrong type
await tools.github.create_issue({ title: 7 });
// @ts-expect-error: a missing argument
await tools.github.create_issue({ labels: [] });
// @ts-expect-error: no arguments
await tools.github.create_issue();
// @ts-expect-error: a misspelt argument
await tools.github.create_issue({ title: "x", label: [] });
// @ts-expect-error: a value that is not listed
await tools.github.create_issue({ title: "x", state: "gone" });
// @ts-expect-error: a missing tool
await tools.github.createIssue({ title: "x" });
// @ts-expect-error: a missing server
await tools.gitlab.create_issue({ title: "x" });
// @ts-expect-error: a missing tool by name
await call("github/create_issues", { title: "x" });
// @ts-expect-error: a wrong type by name
await call("github/create_issue", { title: 7 });
// @ts-expect-error: no arguments by name
await call("github/create_issue");
// @ts-expect-error: a result that is not awaited
tools.github.create_issue({ title: "x" }).number;
// @ts-expect-error: a missing property of a result
(await tools.github.create_issue({ title: "x" })).id;
// @ts-expect-error: a result of which nothing is known
(await tools.my_files.list_all()).files;
// @ts-expect-error: no timers
setTimeout(() => {}, 1);
`,
	})
}
