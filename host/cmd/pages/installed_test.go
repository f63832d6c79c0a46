package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs is a directory of collet and the plugin mcp, as they ship.
func programs(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("COLLET_BIN_DIR"); dir != "" {
		return dir
	}
	dir := t.TempDir()
	for _, p := range []struct{ program, in, pkg string }{
		{"collet", "../collet", "."}, {"collet-attest", "../../../attest", "."}, {"collet-plugin-mcp", "../../../plugins/mcp", "."},
	} {
		cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, p.program), p.pkg)
		cmd.Dir = p.in
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", p.program, err, out)
		}
	}
	return dir
}

// The collet that was installed takes the plugins that were installed with it for its
// own, wherever it is called from.
func TestInstalledColletFindsItsPlugins(t *testing.T) {
	p := newPlace(t)
	p.bin = programs(t)
	p.install(t, "none")
	home := t.TempDir()
	config := filepath.Join(home, "mcp.toml")
	if err := os.WriteFile(config, []byte("[servers.x]\ncommand = \"true\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.EvalSymlinks(filepath.Join(p.root, p.prefix, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "collet"), "--config", config, "plugins", "list", "--json")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=/nowhere", "XDG_RUNTIME_DIR=" + home}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("collet plugins list: %v\n%s", err, stderr.Bytes())
	}
	var answer struct {
		Plugins []struct{ Name, Path, State, Error string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	for _, plugin := range answer.Plugins {
		if plugin.Name != "mcp" {
			continue
		}
		if want := filepath.Join(bin, "collet-plugin-mcp"); plugin.Path != want || plugin.State != "shipped" || plugin.Error != "" {
			t.Errorf("mcp is %q at %s (%s), want it shipped at %s", plugin.State, plugin.Path, cmp.Or(plugin.Error, "no error"), want)
		}
		return
	}
	t.Errorf("no plugin mcp in %s", out)
}
