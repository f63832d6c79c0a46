package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	own, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text string
		code int
		says string
	}{
		"collet's own":    {string(own), 0, ""},
		"the least":       {"version: 2\nbuilds: [{main: .}]\n", 0, ""},
		"an unknown key":  {string(own) + "\nbulids: []\n", 1, "bulids"},
		"a key misplaced": {strings.Replace(string(own), "wrap_in_directory: true", "wrap_in_dir: true", 1), 1, "wrap_in_dir"},
		"a wrong type":    {"version: 2\nbuilds: none\n", 1, "[]config.Build"},
		"no builds":       {"version: 2\nproject_name: x\n", 1, "builds nothing"},
		"nothing":         {"", 1, "version is 0"},
		"no version":      {strings.Replace(string(own), "version: 2", "", 1), 1, "version is 0"},
		"another version": {"version: 9\nbuilds: [{main: .}]\n", 1, "version is 9"},
		"no YAML":         {"builds: [\n", 1, ""},
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		code := check([]string{file}, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.says) || (code == 0) != (stderr.Len() == 0) {
			t.Errorf("%s: exit code %d, %q", what, code, stderr.String())
		}
		if code == 1 && !strings.Contains(stderr.String(), file) {
			t.Errorf("%s: the file is not named: %q", what, stderr.String())
		}
	}
	var stderr bytes.Buffer
	if code := check([]string{filepath.Join(t.TempDir(), "missing.yaml")}, &stderr); code != 1 {
		t.Errorf("a file that is missing: exit code %d, %q", code, stderr.String())
	}
	for _, args := range [][]string{nil, {"a", "b"}} {
		stderr.Reset()
		if code := check(args, &stderr); code != 2 || !strings.Contains(stderr.String(), "usage: ") {
			t.Errorf("%q: exit code %d, %q", args, code, stderr.String())
		}
	}
}
