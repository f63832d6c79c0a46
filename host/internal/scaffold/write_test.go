package scaffold

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var few = []File{{"a.txt", []byte("a")}, {"deep/er/b.txt", []byte("b")}}

// tree is every file and directory below dir.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWrite(t *testing.T) {
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"new", "empty", "two/levels"} {
		if err := Write(filepath.Join(parent, dir), few); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, filepath.Join(parent, dir)); !slices.Equal(got, []string{"a.txt", "deep", "deep/er", "deep/er/b.txt"}) {
			t.Errorf("%s: %v", dir, got)
		}
	}
	if got := tree(t, parent); len(got) != 3*5+1 {
		t.Errorf("something was left behind: %v", got)
	}
}

// What cannot be written leaves everything as it was.
func TestWriteRefuses(t *testing.T) {
	parent := t.TempDir()
	full, file, here := filepath.Join(parent, "full"), filepath.Join(parent, "file"), filepath.Join(parent, "here")
	for _, dir := range []string{full, here} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{file, filepath.Join(full, "a.txt")} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, parent)
	t.Chdir(here)
	for _, dir := range []string{full, file, ".", here} {
		if err := Write(dir, few); err == nil {
			t.Errorf("%s was written", dir)
		} else {
			t.Log(err)
		}
	}
	// A file in the place of a directory, as a full disk would end it half-way.
	if err := Write(filepath.Join(parent, "new"), []File{{"a", nil}, {"a/b", nil}}); err == nil {
		t.Error("what cannot be written was")
	}
	if got := tree(t, parent); !slices.Equal(got, before) {
		t.Errorf("before %v\nafter  %v", before, got)
	}
	if b, err := os.ReadFile(filepath.Join(full, "a.txt")); err != nil || string(b) != "mine" {
		t.Errorf("a file that was there is %q, %v", b, err)
	}
}
