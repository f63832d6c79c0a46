package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// npmServer is the config of one of the reference servers.
func npmServer(t *testing.T, name string, args ...string) config {
	t.Helper()
	return npmPackage(t, "@modelcontextprotocol/server-"+name, args...)
}

// npmPackage is the config of a server from npm that `make servers` installs.
// Where COLLET_NPM_DIR says that they are there, they must be.
func npmPackage(t *testing.T, name string, args ...string) config {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", ".cache", "npm")
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && !must {
		t.Skipf("no servers from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no servers from npm: %v", err)
	}
	return config{
		Command: "node", Args: append([]string{path}, args...), Cwd: t.TempDir(),
		Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
	}
}

func TestEverything(t *testing.T) {
	t.Parallel()
	p := serve(t, npmServer(t, "everything"))
	wait := p.watch(t)
	if tools := p.tools(t); len(tools) < 13 || !json.Valid([]byte(tools["get-sum"])) || !strings.Contains(tools["get-sum"], `"inputSchema"`) {
		t.Errorf("%d tools, get-sum is %s", len(tools), tools["get-sum"])
	}
	if got := p.mustCall(t, "get-sum", `{"a":2,"b":40}`); got.isError || !strings.Contains(got.result, "is 42") {
		t.Errorf("get-sum: %s", got.result)
	}
	if got := p.mustCall(t, "get-sum", `{"a":"two"}`); !got.isError {
		t.Errorf("get-sum of a word: %s, want isError", got.result)
	}
	long := p.mustCall(t, "trigger-long-running-operation", `{"duration":1,"steps":4}`)
	if len(long.progress) == 0 || long.progress[0].GetTotal() != 4 {
		t.Errorf("progress %v", long.progress)
	}

	var methods []string
	wait("the methods to forward", func(ev *adapterpb.WatchEvent) bool {
		methods = ev.GetSnapshot().GetForwardMethods()
		return len(methods) > 0
	})
	for _, m := range []string{"resources/read", "prompts/get", "completion/complete"} {
		if !slices.Contains(methods, m) {
			t.Errorf("%v lacks %s", methods, m)
		}
	}
	stream, err := p.Forward(within(t), &adapterpb.ForwardRequest{Method: "prompts/list"})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := stream.Recv()
	if err != nil || !strings.Contains(string(ev.GetResult()), `"prompts":[`) {
		t.Errorf("prompts/list: %s, %v", ev.GetResult(), err)
	}
}

func TestFilesystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a < b & ü"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, npmServer(t, "filesystem", dir))
	if tools := p.tools(t); len(tools) < 14 || !strings.Contains(tools["read_text_file"], `"outputSchema"`) {
		t.Errorf("%d tools, read_text_file is %s", len(tools), tools["read_text_file"])
	}
	args, err := json.Marshal(map[string]string{"path": filepath.Join(dir, "a.txt")})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.mustCall(t, "read_text_file", string(args)); got.isError || !strings.Contains(got.result, `"a < b & ü"`) {
		t.Errorf("read_text_file: %s", got.result)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	cfg := npmServer(t, "memory")
	cfg.Env["MEMORY_FILE_PATH"] = filepath.Join(t.TempDir(), "memory.jsonl")
	p := serve(t, cfg)
	if tools := p.tools(t); len(tools) != 9 {
		t.Errorf("%d tools, want 9", len(tools))
	}
	p.mustCall(t, "create_entities", `{"entities":[{"name":"collet","entityType":"sleeve","observations":["grips tools"]}]}`)
	if got := p.mustCall(t, "read_graph", `{}`); !strings.Contains(unquote(t, got.result), "grips tools") {
		t.Errorf("read_graph: %s", got.result)
	}
}

func TestSequentialThinking(t *testing.T) {
	t.Parallel()
	p := serve(t, npmServer(t, "sequential-thinking"))
	if tools := p.tools(t); len(tools) != 1 {
		t.Errorf("%d tools, want 1", len(tools))
	}
	got := p.mustCall(t, "sequentialthinking", `{"thought":"one","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`)
	if got.isError || !strings.Contains(unquote(t, got.result), `"thoughtNumber": 1`) {
		t.Errorf("sequentialthinking: %s", got.result)
	}
	_, err := p.call(t, "no_such_tool", `{}`)
	if err != nil { // servers differ: an isError result, or an error
		if f := wantFailure(t, err, failure.InvalidArguments, failure.Answered); f.UpstreamCode != -32602 {
			t.Errorf("code %d", f.UpstreamCode)
		}
	}
}

// unquote is the text of a result's first content block.
func unquote(t *testing.T, result string) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("result %s has no text: %v", result, err)
	}
	return r.Content[0].Text
}
