package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

// npmDir holds the packages of the servers from npm that `make servers` installs.
// Where COLLET_NPM_DIR says that they are there, they must be.
func npmDir(t *testing.T) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", ".cache", "npm")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil && !must {
		t.Skipf("no servers from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no servers from npm: %v", err)
	}
	return dir
}

// Four servers that nobody here wrote, from mcp.toml to a call.
func TestServersFromNPM(t *testing.T) {
	npm, files := npmDir(t), t.TempDir()
	opt := options(t, `
[servers.everything]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-everything/dist/index.js"]
[servers.files]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-filesystem/dist/index.js", "${FILES}"]
[servers.memory]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-memory/dist/index.js"]
env = { MEMORY_FILE_PATH = "${FILES}/memory.jsonl" }
[servers.thinking]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-sequential-thinking/dist/index.js"]
`)
	opt.Environ = append(opt.Environ, "NPM="+npm, "FILES="+files)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, x := range list.Tools {
		count[x.Server]++
		if x.Unchecked() != "" {
			t.Errorf("%s is unchecked: %s", x.Name, x.Unchecked())
		}
		if def := gjson.ParseBytes(x.Definition); def.Get("name").String() != strings.TrimPrefix(x.Name, x.Server+"/") || def.Get("inputSchema").Raw != string(x.InputSchema) {
			t.Errorf("%s: definition %s", x.Name, x.Definition)
		}
	}
	for server, least := range map[string]int{"everything": 13, "files": 14, "memory": 9, "thinking": 1} {
		if count[server] < least {
			t.Errorf("%s has %d tools, want %d", server, count[server], least)
		}
	}
	for _, s := range list.Servers {
		if s.State != "ready" || s.Error != "" || s.Version == "" {
			t.Errorf("%+v", s)
		}
	}

	t.Run("everything", func(t *testing.T) {
		text := func(res *host.Result) string { return gjson.GetBytes(res.JSON, "content.0.text").String() }
		if got := text(mustCall(t, h, "everything/get-sum", `{"a":2,"b":40}`)); !strings.Contains(got, "is 42") {
			t.Errorf("get-sum: %s", got)
		}
		said := "<a> & \u2028 9007199254740993 \U0001F9E6"
		if got := text(mustCall(t, h, "everything/echo", object(t, "message", said))); !strings.HasSuffix(got, said) {
			t.Errorf("echo: %q", got)
		}
		var steps int
		_, err := h.Call(patient(t), host.Request{
			Tool: "everything/trigger-long-running-operation", Arguments: json.RawMessage(`{"duration":1,"steps":4}`),
			OnProgress: func(p host.Progress) { steps = int(p.Total) },
		})
		if err != nil || steps != 4 {
			t.Errorf("long operation: %v, %d steps", err, steps)
		}
		f := mustFail(t, h, host.Request{Tool: "everything/get-sum", Arguments: json.RawMessage(`{"a":"two","b":1}`)})
		if len(f.Problems) != 1 || f.Problems[0].Path != "/a" {
			t.Errorf("get-sum of a word: %+v", f)
		}
	})
	t.Run("files", func(t *testing.T) {
		// What JSON libraries like to change, as a file that must not change.
		content := "{\"id\":9007199254740993,\"one\":1.0,\"zebra\":1,\"a\":2}\n<b>&amp;</b> \u2028\u2029 \u00e9 \\u00e9 \\/ \"\t\x7f\n"
		path := filepath.Join(files, "a b&c.txt")
		if res := mustCall(t, h, "files/write_file", `{"content":`+jsonText(t, content)+`,"path":`+jsonText(t, path)+`}`); res.IsError {
			t.Fatalf("write: %s", res.JSON)
		}
		if onDisk, err := os.ReadFile(path); err != nil || string(onDisk) != content {
			t.Errorf("on disk: %q %v", onDisk, err)
		}
		res := mustCall(t, h, "files/read_text_file", object(t, "path", path))
		for _, at := range []string{"content.0.text", "structuredContent.content"} {
			if got := gjson.GetBytes(res.JSON, at).String(); got != content {
				t.Errorf("%s: %q", at, got)
			}
		}
		if len(res.Notices) > 0 {
			t.Errorf("notices %q", res.Notices)
		}
		if res := mustCall(t, h, "files/read_text_file", object(t, "path", "/no/such/file")); !res.IsError {
			t.Errorf("a path outside: %s", res.JSON)
		}
	})
	t.Run("memory", func(t *testing.T) {
		observed := "grips <tools> & \u2028 9007199254740993"
		mustCall(t, h, "memory/create_entities", `{"entities":[{"name":"collet","entityType":"sleeve","observations":[`+jsonText(t, observed)+`]}]}`)
		res := mustCall(t, h, "memory/read_graph", `{}`)
		if got := gjson.GetBytes(res.JSON, "structuredContent.entities.0.observations.0").String(); got != observed {
			t.Errorf("read_graph: %s", res.JSON)
		}
	})
	t.Run("thinking", func(t *testing.T) {
		res := mustCall(t, h, "thinking/sequentialthinking", `{"thought":"one","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`)
		if res.IsError || !strings.Contains(string(res.JSON), "thoughtNumber") {
			t.Errorf("%s", res.JSON)
		}
	})
}

// jsonText is text as a JSON string, with no more escapes than it needs.
func jsonText(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// object is a JSON object with one member of that text.
func object(t *testing.T, key, text string) string {
	t.Helper()
	return `{"` + key + `":` + jsonText(t, text) + `}`
}
