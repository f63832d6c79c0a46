//go:build unix

package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if _, err := Open(dir, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is missing: %v", err)
	}
	for range 2 {
		root, err := Open(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := root.Stat("."); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info.Mode(), err)
		}
		root.Close()
	}
	for mode, ok := range map[os.FileMode]bool{0o755: true, 0o770: false, 0o702: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		root, err := Open(dir, true)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("%o: %v", mode, err)
		}
		if err == nil {
			root.Close()
		}
	}
	for _, relative := range []string{"", "x", "./x"} {
		if _, err := Open(relative, true); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("%q: %v", relative, err)
		}
	}
}
