package rewrite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "f.json")
	if err := File(path, nil, []byte("1")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "1")
	if fi, _ := os.Stat(path); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v", fi.Mode())
	}
	if err := File(path, []byte("0"), []byte("2")); err == nil || !strings.Contains(err.Error(), "somebody else has changed it") {
		t.Errorf("it was changed meanwhile: %v", err)
	}
	if err := File(path, nil, []byte("2")); err == nil {
		t.Error("it was made meanwhile, and is lost")
	}
	holds(t, path, "1")
	write(t, path, "1", 0o640)
	if err := File(path, []byte("1"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(path); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, was 0640", fi.Mode())
	}
	write(t, path, "2", 0o440)
	if err := File(path, []byte("2"), []byte("3")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", err)
	}
	holds(t, path, "2")
	if left, _ := filepath.Glob(filepath.Join(dir, "new", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestReadOnlyDirectory changes nothing where nothing may be made.
func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("nothing keeps this user from writing")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "1", 0o600)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := File(path, []byte("1"), []byte("2")); err == nil {
		t.Error("it was written")
	}
	if _, err := Keep(path, []byte("1")); err == nil {
		t.Error("a copy was made")
	}
	holds(t, path, "1")
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	link, between, target := filepath.Join(dir, "link"), filepath.Join(dir, "between"), filepath.Join(dir, "target")
	if err := os.Symlink("between", link); err != nil {
		t.Skip(err) // Windows wants a right for it
	}
	if err := os.Symlink(target, between); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ before, after string }{{"", "1"}, {"1", "2"}} { // first it leads nowhere
		if err := File(link, []byte(change.before), []byte(change.after)); err != nil {
			t.Fatal(err)
		}
		holds(t, target, change.after)
	}
	b, err := Keep(link, []byte("2"))
	if err != nil || !b.Made {
		t.Fatal(b, err)
	}
	holds(t, target+".bak", "2")
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", fi, err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := File(filepath.Join(dir, "loop"), nil, []byte("x")); err == nil {
		t.Error("a loop was written to")
	}
}

func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if b, err := Keep(path, nil); b != nil || err != nil {
		t.Errorf("without a file: %v, %v", b, err)
	}
	write(t, path, "1", 0o644)
	b, err := Keep(path, []byte("1"))
	if err != nil || !b.Made || b.Path != path+".bak" {
		t.Fatalf("%+v, %v", b, err)
	}
	holds(t, b.Path, "1")
	if fi, _ := os.Stat(b.Path); runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the copy: %v", fi.Mode())
	}
	if b, err := Keep(path, []byte("1")); b != nil || err != nil {
		t.Errorf("the copy is there: %v, %v", b, err)
	}
	if b, err := Keep(path, []byte("2")); err != nil || b == nil || b.Made {
		t.Errorf("another copy is there: %v, %v", b, err)
	}
	holds(t, path+".bak", "1")
}

// TestNowhere fails where nothing can be made, whoever asks, and leaves nothing.
func TestNowhere(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "1", 0o600)
	if err := File(filepath.Join(dir, "f", "below.json"), nil, []byte("2")); err == nil {
		t.Error("a file was made below a file")
	}
	if err := File(dir, nil, []byte("2")); err == nil {
		t.Error("a directory was written to")
	}
	holds(t, filepath.Join(dir, "f"), "1")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
