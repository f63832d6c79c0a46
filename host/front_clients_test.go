package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var buildCollet = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "collet") // beside the plugins, where it looks for them
	return path, build(".", path, "./cmd/collet")
})

// colletProgram is the command line, built once.
func colletProgram(t *testing.T) string {
	t.Helper()
	path, err := buildCollet()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The clients of the TypeScript SDK, which nobody here wrote: version 1, of the
// initialize era, and version 2, of both. Behind the host are a server that misbehaves
// on demand, one from npm that asks its client by the rules of the older era, and one
// that cannot be started.
func TestServesTypeScriptClients(t *testing.T) {
	t.Parallel()
	modules := npmDir(t)
	script, err := os.ReadFile("../test/clients/front.mjs")
	if err != nil {
		t.Fatal(err)
	}
	// node looks for packages beside the script.
	dir := t.TempDir()
	program := filepath.Join(dir, "front.mjs")
	if err := errors.Join(os.WriteFile(program, script, 0o600), os.Symlink(modules, filepath.Join(dir, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ sdk, transport, version string }{
		{"v1", "stdio", "2025-11-25"},
		{"v1", "http", "2025-11-25"},
		{"v2", "stdio", "2026-07-28"},
		{"v2", "http", "2026-07-28"},
		{"v2legacy", "http", "2025-11-25"},
	} {
		t.Run(test.sdk+"/"+test.transport, func(t *testing.T) {
			visits(t, modules, test.transport, test.version, "node", program, test.sdk)
		})
	}
}

// The client of the official Go SDK, in both eras, does the same.
func TestServesGoClients(t *testing.T) {
	t.Parallel()
	modules := npmDir(t)
	program := filepath.Join(t.TempDir(), "sdkclient")
	if err := build("../bench", program, "./internal/sdkclient"); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(version+"/"+transport, func(t *testing.T) { visits(t, modules, transport, version, program, version) })
		}
	}
}

// visits runs a client, whose further arguments are the transport and what is to be
// reached by it, and checks what it says that it found.
func visits(t *testing.T, modules, transport, version string, client ...string) {
	log := filepath.Join(t.TempDir(), "log")
	config := fmt.Sprintf(`
[host]
exposure = "deferred"
response_budget = "8KiB"
[servers.n]
command = %q
args = ["-log", %q]
[servers.n.tool_exposure]
"echo" = "direct"
"t_*" = "direct"
"s_*" = "codemode"
[servers.old]
command = "node"
args = [%q]
[servers.dead]
command = %q
`, filepath.Join(built, "faultserver"), log, filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js"), filepath.Join(built, "no-such-file"))
	arguments := append(client[1:len(client):len(client)], transport)
	if transport == "http" {
		arguments = append(arguments, guarded(t, open(t, config)))
	} else {
		file := filepath.Join(t.TempDir(), "mcp.toml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, colletProgram(t), "--config", file, "serve")
	}
	cmd := exec.CommandContext(patient(t), client[0], arguments...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var said struct {
		Version                 string
		Tools, Found, Pending   []string
		Prompts, Completed      []string
		Echo, Sum, Asked, After string
		Prompt, URI, Spilled    string
		Progress                []float64
		Unknown, Read, Whole    int
		Canceled                bool
		Scripts                 struct {
			Sum      []string
			Asked    string
			Failed   []any
			Kept     string
			Progress bool
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for what, ok := range map[string]bool{
		"version":   said.Version == version,
		"tools":     said.Tools[0] == "n__echo" && slices.Equal(said.Tools[len(said.Tools)-4:], []string{"tool_search", "tool_call", "codemode", "result_read"}) && !slices.ContainsFunc(said.Tools, func(s string) bool { return strings.HasPrefix(s, "old__") }),
		"echo":      said.Echo == "<&>" && said.After == "still here",
		"search":    slices.Equal(said.Found, []string{"old/get-sum"}) && slices.Equal(said.Pending, []string{"dead"}),
		"tool_call": strings.Contains(said.Sum, "42"),
		"question":  strings.Contains(said.Asked, "Ann <& Co>"),
		"progress":  len(said.Progress) >= 3 && slices.IsSorted(said.Progress),
		"unknown":   said.Unknown == -32602,
		"prompts":   slices.Contains(said.Prompts, "old__args-prompt") && strings.Contains(said.Prompt, "<&>") && slices.Equal(said.Completed, []string{"Engineering"}),
		"resources": strings.HasPrefix(said.URI, "collet:old/demo://") && said.Read == 1,
		"spilled":   said.Spilled == "over-budget" && said.Whole == 20000,
		"cancel":    said.Canceled,
		"scripts":   len(said.Scripts.Sum) == 2 && strings.Contains(said.Scripts.Sum[0], "42") && said.Scripts.Sum[1] == "<&>" && strings.Contains(said.Scripts.Asked, "Ann <& Co>"),
		"failures":  fmt.Sprint(said.Scripts.Failed) == "[2 timeout arguments]",
		"kept":      said.Scripts.Kept == "line 499\n" && said.Scripts.Progress,
	} {
		if !ok {
			t.Errorf("%s: the client says %s", what, out)
		}
	}
	awaitCanceled(t, log, "t_progress_forever", false)
}
