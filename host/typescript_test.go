package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
)

// typeCheck has the compiler of TypeScript check files, as strict as it is, and
// returns what it says, "" for nothing.
func typeCheck(t *testing.T, npm string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{filepath.Join(npm, "typescript", "bin", "tsc"), "--strict", "--noEmit", "--pretty", "false",
		"--target", "es2023", "--lib", "es2023", "--module", "esnext", "--moduleDetection", "force", "--types", ""}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.CommandContext(patient(t), "node", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// The tools of servers that nobody here wrote, as TypeScript: each declaration
// compiles, and so does a script that uses them, but not one that is wrong.
func TestTypeScriptOfRealServers(t *testing.T) {
	npm, dir := npmDir(t), t.TempDir()
	opt := options(t, `
[servers.everything]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-everything/dist/index.js"]
[servers.my-files]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-filesystem/dist/index.js", "${DIR}"]
[servers.memory]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-memory/dist/index.js"]
env = { MEMORY_FILE_PATH = "${DIR}/memory.jsonl" }
[servers.thinking]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-sequential-thinking/dist/index.js"]
[servers.context7]
command = "node"
args = ["${NPM}/@upstash/context7-mcp/dist/index.js"]
`)
	opt.Environ = append(opt.Environ, "NPM="+npm, "DIR="+dir)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) < 30 {
		t.Fatalf("%d tools", len(list.Tools))
	}
	files := map[string]string{"collet.d.ts": list.TypeScript()}
	for i := range list.Tools {
		tool := &list.Tools[i]
		text := tool.TypeScript()
		files[fmt.Sprintf("tool%d.ts", i)] = text
		// What gives way is for schemas that nobody has: these are told in full.
		if len(text) > 16_000 || strings.Contains(string(tool.InputSchema), `"minimum"`) && !strings.Contains(text, "@minimum") {
			t.Errorf("%s is not told in full:\n%s", tool.Name, text)
		}
		one, err := h.Tool(t.Context(), tool.Name)
		if err != nil || one.TypeScript() != text {
			t.Errorf("%s alone (%v) is another than in a list", tool.Name, err)
		}
	}
	files["script.ts"] = `
const { content } = await tools.my_files.read_text_file({ path: "a.txt", head: 3 });
const sizes: number[] = content.split("\n").map((line) => line.length);
await tools["my-files"]["write_file"]({ path: "b.txt", content: String(sizes) });
const graph = await call("memory/read_graph");
text(graph.entities.map((entity) => entity.name));
const weather = await tools.everything.get_structured_content({ location: "Chicago" });
text(weather.temperature > 20 ? weather.conditions : "cold");
`
	if said := typeCheck(t, npm, files); said != "" {
		t.Error(said)
	}
	for wrong, want := range map[string]string{
		`await tools.my_files.read_text_file({ path: 7 });`:                              "TS2322",
		`await tools.my_files.read_file_text({ path: "a" });`:                            "TS2339",
		`await tools.everything.get_structured_content({ location: "Rome" });`:           "TS2322",
		`(await call("memory/read_graph")).nodes;`:                                       "TS2339",
		`await call("memory/read_graphs");`:                                              "TS2345",
		`tools.everything.get_structured_content({ location: "Chicago" }).temperature; `: "TS2339",
	} {
		said := typeCheck(t, npm, map[string]string{"collet.d.ts": files["collet.d.ts"], "wrong.ts": wrong})
		if !strings.HasPrefix(said, "wrong.ts(1,") || !strings.Contains(said, want) || strings.Count(said, "error TS") != 1 {
			t.Errorf("%s\n%s", wrong, said)
		}
	}
}
