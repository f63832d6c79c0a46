package reload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that has to happen.
const patience = 20 * time.Second

// watched is a watch on one file, and what it tells: the file's content each time.
type watched struct {
	t    *testing.T
	path string
	told chan string
}

func watch(t *testing.T, path string) *watched {
	x := &watched{t, path, make(chan string, 1000)}
	w, err := Watch(func() []string { return []string{path} }, func(context.Context) {
		data, err := os.ReadFile(path)
		if err != nil {
			data = []byte("(none)")
		}
		x.told <- string(data)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// wants waits until the file is told to hold text, and returns how often anything
// was told until then.
func (x *watched) wants(text string) (calls int) {
	x.t.Helper()
	deadline := time.After(patience)
	last := "nothing"
	for {
		select {
		case last = <-x.told:
			calls++
			if last == text {
				return calls
			}
		case <-deadline:
			x.t.Fatalf("told %q last, want %q", last, text)
		}
	}
}

// once is wants, with no other call before.
func (x *watched) once(text string) {
	x.t.Helper()
	if n := x.wants(text); n != 1 {
		x.t.Errorf("told %d times until %q, want once", n, text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// replace does what most editors do: write another file, rename it.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".tmp", text)
	must(t, os.Rename(path+".tmp", path))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWaysToChangeAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.toml")
	write(t, file, "1")
	x := watch(t, file)

	write(t, file, "in place")
	x.wants("in place")
	replace(t, file, "renamed")
	x.wants("renamed")
	replace(t, file, "again") // the watch is not on the file that is gone
	x.wants("again")
	must(t, os.Remove(file))
	x.wants("(none)")
	write(t, file, "made again")
	x.wants("made again")
	must(t, os.Rename(file, file+"~")) // vim's backup
	write(t, file, "after a backup")
	x.wants("after a backup")
	write(t, filepath.Join(dir, "other"), "x") // not of interest
	write(t, file, "end")
	x.wants("end")
}

func TestFileAndDirectoriesAppear(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "mcp.toml")
	x := watch(t, file)
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	write(t, file, "1")
	x.once("1")
	must(t, os.RemoveAll(filepath.Join(dir, "a")))
	x.once("(none)")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	write(t, file, "2")
	x.once("2")
}

func TestDirectoryIsReplaced(t *testing.T) {
	root := t.TempDir()
	dir, away := filepath.Join(root, "d"), filepath.Join(root, "away")
	file := filepath.Join(dir, "mcp.toml")
	must(t, os.Mkdir(dir, 0o700))
	write(t, file, "1")
	x := watch(t, file)

	must(t, os.Rename(dir, away))
	x.wants("(none)")
	must(t, os.Rename(away, dir)) // the same one comes back
	x.wants("1")
	write(t, file, "2")
	x.wants("2")

	must(t, os.Rename(dir, away)) // there and back before anybody looks
	must(t, os.Rename(away, dir))
	write(t, file, "3")
	x.wants("3")
	write(t, file, "4")
	x.wants("4")

	must(t, os.Rename(dir, away))
	must(t, os.Mkdir(dir, 0o700))
	write(t, file, "another directory")
	x.wants("another directory")
	write(t, filepath.Join(away, "mcp.toml"), "old place")
	write(t, file, "new place")
	x.wants("new place")
}

// Kubernetes mounts a ConfigMap as mcp.toml -> ..data/mcp.toml and
// ..data -> ..TIME, and renames another link over ..data.
func TestSymlinkIsSwapped(t *testing.T) {
	needsLinks(t)
	dir := t.TempDir()
	version := func(n int) {
		name := fmt.Sprintf("..version%d", n)
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		write(t, filepath.Join(dir, name, "mcp.toml"), fmt.Sprint(n))
		must(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version(1)
	must(t, os.Symlink(filepath.Join("..data", "mcp.toml"), filepath.Join(dir, "mcp.toml")))
	x := watch(t, filepath.Join(dir, "mcp.toml"))
	version(2)
	x.once("2")
	must(t, os.RemoveAll(filepath.Join(dir, "..version1")))
	version(3)
	x.once("3")
}

// Dotfiles are linked from a checkout elsewhere.
func TestLinkedFile(t *testing.T) {
	needsLinks(t)
	root := t.TempDir()
	for _, d := range []string{"config", "dot", "other"} {
		must(t, os.Mkdir(filepath.Join(root, d), 0o700))
	}
	link, real, other := filepath.Join(root, "config", "mcp.toml"), filepath.Join(root, "dot", "x.toml"), filepath.Join(root, "other", "y.toml")
	must(t, os.Symlink(real, link))
	x := watch(t, link)
	write(t, real, "1") // it dangled before
	x.once("1")
	replace(t, real, "2")
	x.once("2")
	must(t, os.Remove(link))
	must(t, os.Symlink("../other/y.toml", link))
	replace(t, other, "3")
	x.wants("3")
	write(t, other, "4")
	x.wants("4")
	must(t, os.Remove(link))
	must(t, os.Symlink("mcp.toml", link)) // a circle
	x.wants("(none)")
	replace(t, link, "5")
	x.wants("5")
}

func needsLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
}

func TestBurst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.toml")
	write(t, file, "0")
	x := watch(t, file)
	for i := range 100 {
		if i%2 == 0 {
			write(t, file, fmt.Sprint(i))
		} else {
			replace(t, file, fmt.Sprint(i))
		}
	}
	// One, unless the machine sleeps between two writes for longer than settle.
	if n := x.wants("99"); n > 10 {
		t.Errorf("100 writes are told %d times", n)
	}
}

// A file that never rests is told all the same.
func TestNeverSettles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.toml")
	x := watch(t, file)
	deadline := time.After(patience)
	for i := 0; ; i++ {
		write(t, file, fmt.Sprint(i))
		select {
		case <-x.told:
			return
		case <-deadline:
			t.Fatal("it is told nothing")
		case <-time.After(settle / 5):
		}
	}
}

// What changes is not told while the last change is still being dealt with, but
// afterwards; and Close waits.
func TestOneAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.toml")
	begun, goOn := make(chan string), make(chan struct{})
	w, err := Watch(func() []string { return []string{file} }, func(ctx context.Context) {
		data, _ := os.ReadFile(file)
		begun <- string(data)
		select {
		case <-goOn:
		case <-ctx.Done():
			close(goOn)
		}
	}, nil)
	must(t, err)
	write(t, file, "1")
	if got := <-begun; got != "1" {
		t.Errorf("told %q", got)
	}
	for i := range 200 { // more than any buffer of events
		replace(t, file, fmt.Sprint("2.", i))
	}
	goOn <- struct{}{}
	for got := range begun {
		if got == "2.199" {
			break
		}
		goOn <- struct{}{}
	}
	must(t, w.Close()) // cancels the call that is going on
	select {
	case <-goOn:
	default:
		t.Error("Close did not wait")
	}
	must(t, w.Close())
}

// When events were lost the watch begins anew, and a change among them is found.
func TestLostEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.toml")
	told := make(chan struct{}, 100)
	w, err := Watch(func() []string { return []string{file} }, func(context.Context) { told <- struct{}{} }, nil)
	must(t, err)
	defer w.Close()
	must(t, w.notify.Remove(filepath.Dir(file))) // behind its back, so that nothing is told of what follows
	write(t, file, "1")
	w.notify.Errors <- fsnotify.ErrEventOverflow
	<-told
	write(t, file, "2")
	<-told
}

// The files may be others after a change: one that is found nearer now.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	far, near := filepath.Join(dir, "mcp.toml"), filepath.Join(dir, "sub", "mcp.toml")
	write(t, far, "1")
	told := make(chan []string, 100)
	files := func() []string {
		if _, err := os.Stat(near); err == nil {
			return []string{near}
		}
		return []string{near, far}
	}
	w, err := Watch(files, func(context.Context) { told <- files() }, nil)
	must(t, err)
	defer w.Close()
	must(t, os.Mkdir(filepath.Dir(near), 0o700))
	write(t, near, "2")
	if got := <-told; !slices.Equal(got, []string{near}) {
		t.Errorf("files are %v", got)
	}
	write(t, far, "3") // does not matter any more
	must(t, os.Remove(near))
	if got := <-told; len(got) != 2 {
		t.Errorf("files are %v", got)
	}
	write(t, far, "4")
	<-told
}

func TestDescriptorsAreGivenBack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts /proc/self/fd")
	}
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	file := filepath.Join(t.TempDir(), "a", "mcp.toml")
	before := 0
	for i := range 20 {
		w, err := Watch(func() []string { return []string{file} }, func(context.Context) {}, nil)
		must(t, err)
		must(t, w.Close())
		if i == 0 {
			before = open() // the runtime's poller has its own by now
		}
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// A directory that cannot be watched is told and does not keep the others back.
func TestWithoutPermission(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("needs a directory that is closed to its owner")
	}
	dir := t.TempDir()
	closed, file := filepath.Join(dir, "closed"), filepath.Join(dir, "mcp.toml")
	must(t, os.Mkdir(closed, 0))
	told := make(chan struct{}, 10)
	w, err := Watch(func() []string { return []string{filepath.Join(closed, "mcp.toml"), file} }, func(context.Context) { told <- struct{}{} }, nil)
	must(t, err)
	defer w.Close()
	write(t, file, "1")
	<-told
}
