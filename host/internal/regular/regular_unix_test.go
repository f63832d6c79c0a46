//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Only a regular file is opened, and nobody waits at a pipe.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "device")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"file": nil, "pipe": ErrOther, "device": ErrOther, ".": ErrOther, "none": fs.ErrNotExist} {
		file, err := Open(filepath.Join(dir, name))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		file.Close()
		if name == "device" {
			continue // it is out of the root
		}
		if file, err = In(root, name, os.O_RDONLY, 0); !errors.Is(err, want) {
			t.Errorf("%s in a root: %v", name, err)
		}
		file.Close()
	}
	if file, err := OpenFile(filepath.Join(dir, "pipe"), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		file.Close()
		t.Error("a pipe is written to")
	}
}
