package plugins

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// install writes an executable file and returns its path.
func install(t *testing.T, dir, file string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	first, second, base := t.TempDir(), t.TempDir(), t.TempDir()
	both := install(t, first, Prefix+"both"+suffix, 0o755)
	install(t, second, Prefix+"both"+suffix, 0o755)
	only := install(t, second, Prefix+"only"+suffix, 0o755)
	own := install(t, base, "bin/own"+suffix, 0o755)
	f := Finder{Dirs: []string{"", first, filepath.Join(first, "not there"), second}}
	for plugin, want := range map[string]string{
		"both":                 both,
		"only":                 only,
		"bin/own":              own,
		"./bin/own":            own,
		"bin/../bin/own":       own,
		filepath.ToSlash(own):  own,
		filepath.ToSlash(only): only,
	} {
		if got, err := f.Find(plugin, base); err != nil || got != want {
			t.Errorf("Find(%q) = %q, %v; want %q", plugin, got, err, want)
		}
	}
}

func TestFindSaysWhereItLooked(t *testing.T) {
	first, second, base := t.TempDir(), t.TempDir(), t.TempDir()
	install(t, second, Prefix+"github"+suffix, 0o755)
	install(t, second, Prefix+"plain"+suffix, 0o644)
	install(t, base, "bin/tool"+suffix, 0o755)
	if err := os.MkdirAll(filepath.Join(first, Prefix+"dir"+suffix), 0o755); err != nil {
		t.Fatal(err)
	}
	f := Finder{Dirs: []string{first, second}}
	for plugin, says := range map[string][]string{
		"":             {"empty"},
		"gihub":        {filepath.Join(first, Prefix+"gihub"), filepath.Join(second, Prefix+"gihub"), "no such file", `did you mean "github"?`},
		"zzzzzzzz":     {`"zzzzzzzz"`, first, second},
		"dir":          {"it is a directory"},
		"bin/toool":    {filepath.Join(base, "bin", "toool"), "no such file", filepath.Join(base, "bin", "tool")},
		"./bin":        {"it is a directory"},
		"nowhere/tool": {filepath.Join(base, "nowhere", "tool"), "no such file"},
	} {
		got, err := f.Find(plugin, base)
		if err == nil {
			t.Errorf("Find(%q) = %q", plugin, got)
			continue
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("Find(%q): %v\nwant it to say %q", plugin, err, s)
			}
		}
	}
	if _, err := f.Find("zzzzzzzz", base); err != nil && strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a suggestion that nobody meant: %v", err)
	}
	if _, err := (Finder{}).Find("github", base); err == nil || !strings.Contains(err.Error(), "host.plugin_dirs") {
		t.Errorf("without directories: %v", err)
	}
	if runtime.GOOS != "windows" {
		if _, err := f.Find("plain", base); err == nil || !strings.Contains(err.Error(), "chmod +x") {
			t.Errorf("a file without the executable bit: %v", err)
		}
	}
}

// What lies on PATH, or in the working directory, is never found by name.
func TestFindDoesNotLookOnPath(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, Prefix+"onpath"+suffix, 0o755)
	t.Setenv("PATH", dir)
	t.Chdir(dir)
	if got, err := (Finder{Dirs: []string{t.TempDir()}}).Find("onpath", dir); err == nil {
		t.Errorf("found %s", got)
	}
}
