package cache

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	if _, ok := d.Get("k"); ok {
		t.Error("an answer nobody kept")
	}
	d.Put("k", []byte("one"))
	d.Put("other", []byte("two"))
	if got, ok := open(t, path).Get("k"); !ok || string(got) != "one" {
		t.Errorf("another process reads %q, %v", got, ok)
	}
	if runtime.GOOS != "windows" {
		dir, _ := os.Stat(path)
		file, _ := os.Stat(d.file("k"))
		if dir.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 {
			t.Errorf("modes %v, %v", dir.Mode(), file.Mode())
		}
	}
	var none *Dir
	none.Put("k", []byte("one"))
	if _, ok := none.Get("k"); ok {
		t.Error("no directory, and yet an answer")
	}
}

func TestOld(t *testing.T) {
	d := open(t, t.TempDir())
	d.Put("k", []byte("one"))
	stranger := filepath.Join(d.path, "notes.txt")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if _, ok := d.Get("k"); ok {
		t.Error("older than it may be")
	}
	d.now = func() time.Time { return time.Now().Add(-2 * time.Hour) }
	if _, ok := d.Get("k"); ok {
		t.Error("from the future")
	}
	d.prune()
	if _, err := os.Stat(d.file("k")); err == nil {
		t.Error("it stays on disk for ever")
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}
}

func TestFull(t *testing.T) {
	d := open(t, t.TempDir())
	big := make([]byte, maxBytes/4+1)
	for i, key := range []string{"a", "b", "c", "d"} {
		d.Put(key, big)
		at := time.Now().Add(time.Duration(i-10) * time.Second)
		if err := os.Chtimes(d.file(key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d.prune()
	if _, ok := d.Get("a"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := d.Get("b"); !ok {
		t.Error("more than the oldest has gone")
	}
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "sub"), time.Hour); err == nil {
		t.Error("no error")
	}
}
