package pins

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Whose mcp.toml had an installed plugin executed is noted, and nobody else.
func TestUsers(t *testing.T) {
	dir := t.TempDir()
	state, installed := filepath.Join(dir, "state"), filepath.Join(dir, "plugins")
	k := &Keeper{StateDir: state, Installed: installed, Copies: &Copies{Dir: filepath.Join(dir, "copies")}}
	use := func(k *Keeper, project, plugins string) {
		t.Helper()
		file := filepath.Join(plugins, "collet-plugin-x")
		if err := errors.Join(os.MkdirAll(plugins, 0o700), os.MkdirAll(filepath.Join(dir, project), 0o700), os.WriteFile(file, []byte("x"), 0o700)); err != nil {
			t.Fatal(err)
		}
		_, err := k.Admit(t.Context(), Use{Config: filepath.Join(dir, project, "mcp.toml"), Plugin: "x", Path: file})
		if _, unpinned := errors.AsType[*UnpinnedError](err); err != nil && !unpinned {
			t.Fatal(err)
		}
	}
	use(k, "a", installed)
	use(k, "a", installed)
	use(k, "b", filepath.Join(installed, "store", strings.Repeat("0", 64)))
	use(k, "c", filepath.Join(dir, "elsewhere"))
	use(&Keeper{StateDir: state, Installed: installed, Copies: k.Copies, Frozen: true}, "d", installed)
	want := []string{filepath.Join(dir, "a", "mcp.toml"), filepath.Join(dir, "b", "mcp.toml")}
	// One that has a link of its own to an installed version needs that as much.
	own := filepath.Join(dir, "own")
	link := filepath.Join(own, "collet-plugin-x")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Symlink(filepath.Join(installed, "store", strings.Repeat("0", 64), "collet-plugin-x"), link)); err == nil {
		if _, err := k.Admit(t.Context(), Use{Config: filepath.Join(own, "mcp.toml"), Plugin: "./collet-plugin-x", Path: link}); err != nil {
			t.Fatal(err)
		}
		want = append(want, filepath.Join(own, "mcp.toml"))
	} else if runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	got, err := Users(state)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	// A note that a crash has cut short is written again.
	note := k.File(filepath.Join(dir, "a", "mcp.toml")).Fallback + configEnd
	if err := os.Truncate(note, 1); err != nil {
		t.Fatal(err)
	}
	use(k, "a", installed)
	again, err := Users(state)
	slices.Sort(again)
	if err != nil || !slices.Equal(again, got) {
		t.Errorf("after a crash: %q, %v; want %q", again, err, got)
	}
	if got, err := Users(filepath.Join(dir, "nowhere")); err != nil || len(got) > 0 {
		t.Errorf("of a directory that is not there: %q, %v", got, err)
	}
}

func TestNaming(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	sums := make([]string, 5)
	for i := range sums {
		sums[i] = strings.Repeat(string(rune('a'+i)), 64)
	}
	config := filepath.Join(dir, "mcp.toml")
	f := FileOf(config, state)
	for path, text := range map[string]string{
		config:     "[servers.x]\nplugin = \"/plugins/store/" + sums[0] + "/collet-plugin-x\"\n",
		f.Path:     `{"version":1,"plugins":{"x":{"sha256":{"plan9/mips":"` + sums[1] + `"}}}}`,
		f.Fallback: `{"version":1,"plugins":{"y":{"sha256":{"linux/amd64":"` + sums[2] + `"}}}}`,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	gone := filepath.Join(dir, "gone", "mcp.toml")
	got, err := Naming([]string{gone, config}, state, sums)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{config, f.Path, f.Fallback, "", ""} {
		if path != "" {
			path += " names it"
		}
		if got[sums[i]] != path {
			t.Errorf("%d: %q, want %q", i, got[sums[i]], path)
		}
	}

	// One that cannot be read may name anything.
	if err := os.Mkdir(filepath.Join(dir, "odd"), 0o700); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "odd", "mcp.toml")
	if err := os.Mkdir(FileOf(odd, state).Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Naming([]string{odd}, state, sums); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v, %v", got, err)
	}
	// So may one that is damaged, or that a newer collet wrote.
	for _, tt := range []struct{ path, text string }{
		{config, "[servers.x]\nplugin = \"/plugins/st"},
		{f.Path, ""}, {f.Path, "{}"}, {f.Path, `{"version":1,"plugins":{"x":{"sha25`}, {f.Path, `{"version":99,"plugins":{}}`},
		{f.Path, `{"version":1,"later":{}}`}, {f.Fallback, `{"version":1,"plugins":{"x":{"sha256":{"linux/amd64":"ab"}}}}`},
	} {
		before, err := os.ReadFile(tt.path)
		if err := errors.Join(err, os.WriteFile(tt.path, []byte(tt.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got, err := Naming([]string{config}, state, sums); err == nil || !strings.HasPrefix(err.Error(), tt.path+" may name a version, and cannot be understood: ") {
			t.Errorf("%s is %q: %v, %v", tt.path, tt.text, got, err)
		}
		if err := os.WriteFile(tt.path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A directory that has become a file holds none.
	if runtime.GOOS != "windows" {
		if _, err := Naming([]string{filepath.Join(config, "mcp.toml")}, state, sums); err != nil {
			t.Error(err)
		}
	}
}
