//go:build unix

package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriters(t *testing.T) {
	top := t.TempDir()
	for dir := top; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			t.Skipf("others may write to %s here (%v): nothing below it is safe", dir, err)
		}
	}
	other := 12345 // a user and a group of nobody
	asRoot := os.Getuid() == 0
	for what, c := range map[string]struct {
		change func(dirs map[string]string) error
		says   string // "" is nothing
		root   bool   // it takes root
	}{
		"everything is ours":   {func(map[string]string) error { return nil }, "", false},
		"a writable directory": {func(d map[string]string) error { return os.Chmod(d["dir"], 0o777) }, "everybody may write to DIR (mode 0777)", false},
		"a sticky directory":   {func(d map[string]string) error { return os.Chmod(d["dir"], 0o777|os.ModeSticky) }, "everybody may write to DIR", false},
		"a writable file":      {func(d map[string]string) error { return os.Chmod(d["file"], 0o702) }, "everybody may write to FILE (mode 0702)", false},
		"where a link leads":   {func(d map[string]string) error { return os.Chmod(d["target"], 0o707) }, "everybody may write to TARGET", false},
		"above":                {func(d map[string]string) error { return os.Chmod(d["above"], 0o777) }, "everybody may write to ABOVE", false},
		"sticky above":         {func(d map[string]string) error { return os.Chmod(d["above"], 0o777|os.ModeSticky) }, "", false},
		"a group": {func(d map[string]string) error {
			if err := os.Chown(d["dir"], -1, other); err != nil {
				return err
			}
			return os.Chmod(d["dir"], 0o770)
		}, "the group 12345 may write to DIR (mode 0770)", true},
		"a group that may read": {func(d map[string]string) error {
			if err := os.Chown(d["dir"], -1, other); err != nil {
				return err
			}
			return os.Chmod(d["dir"], 0o750)
		}, "", true},
		"one's own group": {func(d map[string]string) error { return os.Chmod(d["dir"], 0o770) }, "", true},
		"another's directory": {func(d map[string]string) error { return os.Chown(d["dir"], other, -1) },
			"DIR belongs to the user 12345", true},
		"another's file": {func(d map[string]string) error { return os.Chown(d["file"], other, -1) }, "FILE belongs to", true},
		"another's above": {func(d map[string]string) error {
			return os.Chown(d["above"], other, -1)
		}, "", true},
	} {
		t.Run(what, func(t *testing.T) {
			if c.root && !asRoot {
				t.Skip("only root gives files away")
			}
			above := filepath.Join(t.TempDir(), "above")
			d := map[string]string{"above": above, "dir": filepath.Join(above, "dir"), "target": filepath.Join(above, "target")}
			for _, dir := range []string{"above", "dir", "target"} {
				if err := os.Mkdir(d[dir], 0o700); err != nil {
					t.Fatal(err)
				}
			}
			d["file"] = filepath.Join(d["target"], "collet-plugin-x")
			path := filepath.Join(d["dir"], "collet-plugin-x")
			if err := os.WriteFile(d["file"], nil, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(d["file"], path); err != nil {
				t.Fatal(err)
			}
			if err := c.change(d); err != nil {
				t.Fatal(err)
			}
			want := c.says
			for name, place := range d {
				want = strings.ReplaceAll(want, strings.ToUpper(name), place)
			}
			why, advice := Writers(path)
			if !strings.HasPrefix(why, want) || (want == "") != (why == "") || (why == "") != (advice == "") {
				t.Errorf("%q, %q; want %q", why, advice, want)
			}
		})
	}
	if why, _ := Writers(filepath.Join(top, "nothing", "there")); why != "" {
		t.Errorf("of what is not there: %q", why)
	}
}
