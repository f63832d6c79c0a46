package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/collet-dev/collet/host"
)

// built is where TestMain puts the plugins and the misbehaving MCP server.
var built string

// patience bounds every wait of these tests; nothing they wait for takes a tenth
// of it on a working host, unless the machine has much else to do.
const patience = time.Minute

func TestMain(m *testing.M) {
	host.ScriptProcess()
	if config := os.Getenv(victimEnv); config != "" {
		beVictim(config)
		return
	}
	if server := os.Getenv(oldFashionedEnv); server != "" {
		if err := beOldFashioned(server); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	for name, pkg := range map[string]string{
		"collet-plugin-hello":       "github.com/collet-dev/collet/sdk/examples/hello",
		"collet-plugin-testadapter": "github.com/collet-dev/collet/sdk/internal/testadapter",
		"collet-plugin-testhook":    "github.com/collet-dev/collet/sdk/internal/testhook",
		"faultserver":               "github.com/collet-dev/collet/sdk/internal/faultserver",
	} {
		if err := build(".", filepath.Join(dir, name), pkg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for _, name := range []string{"mcp", "azure", "context7", "github", "websearch", "workiq", // what the shipped mcp.toml names
		"replay"} {
		if err := build("../plugins/"+name, filepath.Join(dir, "collet-plugin-"+name), "."); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if code := m.Run(); code != 0 {
		return code
	}
	// Connections and processes of the last tests end in their own time, which on a busy
	// machine is longer than goleak looks; what leaks stays.
	err = goleak.Find()
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func build(dir, out, pkg string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// open opens a host with that mcp.toml, in which %s stands for the directory of
// the built binaries, and closes it with the test.
func open(t *testing.T, toml string) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), options(t, toml))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	for _, p := range h.Problems() {
		t.Error("problem:", p)
	}
	return h
}

func options(t *testing.T, toml string) host.Options {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return host.Options{
		ConfigFiles: []string{file},
		PluginDirs:  []string{built},
		StateDir:    filepath.Join(dir, "state"),
		CacheDir:    filepath.Join(dir, "cache"),
		Environ:     append(os.Environ(), "BUILT="+built),
		Asks:        true,
	}
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// mustCall calls a tool as the command line does and fails the test if the call fails.
func mustCall(t *testing.T, h *host.Host, tool, args string) *host.Result {
	t.Helper()
	res, err := h.Call(patient(t), host.Request{Tool: tool, Arguments: json.RawMessage(args), Caller: host.CLI})
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return res
}

// mustFail calls a tool and returns the failure it must end in.
func mustFail(t *testing.T, h *host.Host, req host.Request) *host.Failure {
	t.Helper()
	res, err := h.Call(patient(t), req)
	if err == nil {
		t.Fatalf("call %s: no failure but %s", req.Tool, res.JSON)
	}
	return err.(*host.Failure)
}

func pidOf(t *testing.T, h *host.Host, server string) int {
	t.Helper()
	for _, s := range h.Servers() {
		if s.Name == server {
			return s.Pid
		}
	}
	t.Fatalf("no server %s", server)
	return 0
}
