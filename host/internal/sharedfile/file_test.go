package sharedfile

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that is open can be renamed and removed, and is read to its end.
func TestOpenFileShares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".1"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(file); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file that somebody reads is replaced once they have read it, at the latest.
func TestRenameOverAnOpenFile(t *testing.T) {
	for name, rename := range map[string]func(root *os.Root) func(from, to string) error{
		"a path": func(root *os.Root) func(from, to string) error {
			return func(from, to string) error {
				return os.Rename(filepath.Join(root.Name(), from), filepath.Join(root.Name(), to))
			}
		},
		"a root": func(root *os.Root) func(from, to string) error { return root.Rename },
	} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		for _, n := range []string{"old", "new"} {
			if err := root.WriteFile(n, []byte(n), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		reader, err := os.Open(filepath.Join(root.Name(), "old"))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, func() { reader.Close() })
		if err := Rename(rename(root), "new", "old"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := root.ReadFile("old"); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if err := Rename(rename(root), "none", "old"); !os.IsNotExist(err) {
			t.Errorf("%s: what is not there: %v", name, err)
		}
	}
}
