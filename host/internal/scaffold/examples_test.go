package scaffold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The adapter in TypeScript keeps the contract, in fewer than 100 lines, and answers
// through collet as others do.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	modules := os.Getenv("COLLET_TYPESCRIPT_DIR")
	if modules == "" {
		t.Skip("COLLET_TYPESCRIPT_DIR does not say where examples/typescript/package.json is installed; make unit does")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "examples", "typescript", "adapter.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 100 {
		t.Errorf("it has %d lines", lines)
	}
	// As in the repository, with what npm installed in its place.
	if err := os.CopyFS(filepath.Join(n.dir, "examples", "typescript"), os.DirFS(filepath.Join(root, "examples", "typescript"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(n.dir, "proto"), os.DirFS(filepath.Join(root, "proto"))); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(filepath.Join(n.dir, "examples", "typescript", "node_modules")) // somebody's own
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(n.dir, "examples", "typescript", "node_modules")); err != nil {
		t.Fatal(err)
	}
	n.dir = filepath.Join(n.dir, "examples", "typescript")
	if out := n.do(t, "collet plugins verify ./collet-plugin-shout --patience 4"); !strings.Contains(out, "shout 0.1.0 keeps the contract: 20 passed, 0 failed") {
		t.Errorf("verified: %s", out)
	}
	if out := n.do(t, "collet --config mcp.toml tools call shout/shout text=hello"); out != "HELLO?\n" {
		t.Errorf("called: %q", out)
	}
	if out, err := n.try(t, "collet --config mcp.toml tools call shout/shout --args '{\"text\":1}'"); err == nil || !strings.Contains(out, "text") {
		t.Errorf("called with a number: %v, %q", err, out)
	}
}
