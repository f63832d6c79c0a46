package declare

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/name"
)

var update = flag.Bool("update", false, "write the golden files")

// Each file of testdata is a list of tools, {server, name, description, ...}, and
// beside it what is declared of them: together, and for editors.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tools := ToolsOf(b)
		golden(t, strings.TrimSuffix(file, ".json")+".ts", Declarations(tools, Limit))
		ambient, ok := strings.CutSuffix(Ambient(tools, Limit), environment)
		if !ok {
			t.Error("what is for editors lacks the environment")
		}
		golden(t, strings.TrimSuffix(file, ".json")+".d.ts", ambient)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is declared now (-update writes it):\n%s", file, got)
	}
	if err := wellFormed(got); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// ToolsOf reads tools of a file of testdata, with their identifiers.
func ToolsOf(list []byte) []Tool {
	names := map[string][]string{}
	gjson.ParseBytes(list).ForEach(func(_, t gjson.Result) bool {
		server := t.Get("server").String()
		names[server] = append(names[server], t.Get("name").String())
		return true
	})
	var servers []string
	for s := range names {
		servers = append(servers, s)
	}
	raw := func(v gjson.Result) []byte {
		if !v.Exists() {
			return nil
		}
		return []byte(v.Raw)
	}
	var tools []Tool
	gjson.ParseBytes(list).ForEach(func(_, t gjson.Result) bool {
		server, own := t.Get("server").String(), t.Get("name").String()
		tools = append(tools, Tool{
			Server: server, Name: own,
			ServerIdentifier: name.ServerIdentifiers(servers)[server], Identifier: name.Identifiers(server, names[server])[own],
			Title: t.Get("title").String(), Description: t.Get("description").String(),
			Input: raw(t.Get("inputSchema")), Output: raw(t.Get("outputSchema")),
		})
		return true
	})
	return tools
}

func TestNothingToDeclare(t *testing.T) {
	if got := Declarations(nil, Limit); got != "" {
		t.Errorf("of no tools: %q", got)
	}
	if got := Ambient(nil, Limit); wellFormed(got) != nil || !strings.Contains(got, "interface Tools {\n}") {
		t.Errorf("of no tools: %q", got)
	}
	// What follows from one tool alone is the same in every order, and twice is once.
	a, b := Tool{Server: "a", Name: "x", ServerIdentifier: "a", Identifier: "x"}, Tool{Server: "b", Name: "x", ServerIdentifier: "b", Identifier: "x"}
	if got, want := Declarations([]Tool{a, b, a}, Limit), Declarations([]Tool{a, b}, Limit); got != want {
		t.Errorf("twice: %s", got)
	}
}
