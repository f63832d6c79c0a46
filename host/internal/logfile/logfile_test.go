package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/sharedfile"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("LOGFILE_TEST_WRITE"); path != "" { // a process that writes beside others
		w, err := Open(path)
		if err != nil {
			panic(err)
		}
		for i := range writes {
			w.Line(numbered(os.Getenv("LOGFILE_TEST_NAME"), i))
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const writes = 3_000 // x 1 KiB x 3 processes: one rotation

func numbered(who string, i int) []byte {
	return fmt.Appendf(nil, "%s %06d %s", who, i, strings.Repeat("x", 1000))
}

func mustOpen(t *testing.T, path string) *Writer {
	t.Helper()
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLinesAreWholeAndPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "s.log")
	w := mustOpen(t, path)
	w.Line([]byte("one"))
	w.Line([]byte("two\r\n"))
	w.Line([]byte("th\nree"))
	w.Line(nil)
	w.Line(bytes.Repeat([]byte("x"), maxLine+10))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Line([]byte("after the end"))
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	mustOpen(t, path).Line([]byte("again"))
	want := "one\ntwo\nth ree\n\n" + strings.Repeat("x", maxLine) + "\nagain\n"
	if got := read(t, path); got != want {
		t.Errorf("the file is %.60q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v; want %v", name, info.Mode().Perm(), want)
		}
	}
}

func TestLineLeavesTheCallersBytesAlone(t *testing.T) {
	buffer := []byte("one\ntwo|rest")
	mustOpen(t, filepath.Join(t.TempDir(), "s.log")).Line(buffer[:7])
	if string(buffer) != "one\ntwo|rest" {
		t.Errorf("the buffer is %q", buffer)
	}
}

func TestRotationAtMaxSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	if err := os.WriteFile(path, bytes.Repeat([]byte("old\n"), MaxSize/4-1), 0o600); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, path)
	other := mustOpen(t, path) // as another process has it
	w.Line([]byte("las"))      // fills it to the byte
	w.Line([]byte("first"))
	other.Line([]byte("second"))
	if got := read(t, path); got != "first\nsecond\n" {
		t.Errorf("the new file is %q", got)
	}
	before := read(t, path+".1")
	if len(before) != MaxSize || !strings.HasSuffix(before, "old\nlas\n") {
		t.Errorf("the file before has %d bytes and ends with %q", len(before), before[len(before)-8:])
	}
}

func TestRotationThatFailsLosesNoLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	if err := os.WriteFile(path, make([]byte, MaxSize), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, path)
	w.Line([]byte("one"))
	w.Line([]byte("two"))
	if got := read(t, path); !strings.HasSuffix(got, "one\ntwo\n") {
		t.Error("lines are lost")
	}
	if err := w.Close(); err == nil {
		t.Error("Close does not say that rotating failed")
	}
}

// Three processes write at once through a rotation: no line is torn, and at most
// one file's worth is gone.
func TestSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	var children []*exec.Cmd
	for _, who := range []string{"a", "b", "c"} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "LOGFILE_TEST_WRITE="+path, "LOGFILE_TEST_NAME="+who)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for line := range strings.Lines(read(t, path+".1") + read(t, path)) {
		who, _, _ := strings.Cut(line, " ")
		if line != string(numbered(who, seen[who]))+"\n" {
			t.Fatalf("line %d of %q is %.40q", seen[who], who, line)
		}
		seen[who]++
	}
	if len(seen) != 3 || seen["a"] != writes || seen["b"] != writes || seen["c"] != writes {
		t.Errorf("lines by process: %v; want %d of each", seen, writes)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	tail := func(n int) string {
		t.Helper()
		var out bytes.Buffer
		if err := Tail(t.Context(), path, n, false, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if err := Tail(t.Context(), path, 5, false, &bytes.Buffer{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that does not exist: %v", err)
	}
	for name, data := range map[string]string{path: "c\nd\ncut off", path + ".1": "a\nb\n"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]string{-1: "", 0: "", 1: "cut off\n", 2: "d\ncut off\n", 3: "c\nd\ncut off\n", 4: "b\nc\nd\ncut off\n", 99: "a\nb\nc\nd\ncut off\n"} {
		if got := tail(n); got != want {
			t.Errorf("the last %d lines are %q; want %q", n, got, want)
		}
	}
	if err := os.Remove(path + ".1"); err != nil {
		t.Fatal(err)
	}
	if got := tail(99); got != "c\nd\ncut off\n" {
		t.Errorf("without a file before: %q", got)
	}
	long := strings.Repeat("0123456789\n", (MaxSize+maxLine)/11+10_000)
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(1 << 30); len(got) > MaxSize+maxLine || !strings.HasPrefix(got, "0123456789\n") {
		t.Errorf("of a file that was never rotated: %d bytes from %.20q", len(got), got)
	}
}

// A log that is rotated after it was opened is not shown twice.
func TestTailDuringRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	mustOpen(t, path).Line([]byte("one"))
	file, err := sharedfile.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&tail{path: path, file: file, w: &out}).last(9); err != nil || out.String() != "one\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// output is what a follower has written so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.log")
	synctest.Test(t, func(t *testing.T) {
		var out output
		done := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { done <- Tail(ctx, path, 2, true, &out) }()
		expect := func(want string) {
			t.Helper()
			time.Sleep(2 * followInterval)
			synctest.Wait()
			if got := out.String(); got != want {
				t.Fatalf("followed %q; want %q", got, want)
			}
		}
		expect("") // it does not exist yet
		w := mustOpen(t, path)
		w.Line([]byte("one"))
		expect("one\n")
		w.Line([]byte("two"))
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		expect("one\ntwo\n")        // between the two steps of a rotation
		w.Line([]byte("straggler")) // of a process that has not noticed
		mustOpen(t, path).Line([]byte("three"))
		expect("one\ntwo\nstraggler\nthree\n")
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		expect("one\ntwo\nstraggler\nthree\n")
		mustOpen(t, path).Line([]byte("4"))
		expect("one\ntwo\nstraggler\nthree\n4\n")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("after its context ended: %v", err)
		}
	})
	if err := Tail(t.Context(), path, 2, true, failing{}); err == nil {
		t.Error("a writer that fails does not end it")
	}
}

// A file that somebody removed or moved away is made again: nothing is written where
// nobody looks.
func TestFileIsFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file stays where it is")
	}
	path := filepath.Join(t.TempDir(), "s.log")
	w := mustOpen(t, path)
	for _, away := range []func() error{
		func() error { return os.Rename(path, path+".moved") },
		func() error { return os.Remove(path) },
	} {
		_ = w.Line([]byte("before"))
		if err := away(); err != nil {
			t.Fatal(err)
		}
		if err := w.Line([]byte("after")); err != nil {
			t.Error(err)
		}
		if got := read(t, path); got != "after\n" {
			t.Errorf("the new file is %q", got)
		}
	}
	if got := read(t, path+".moved"); got != "before\n" {
		t.Errorf("the one that was moved is %q", got)
	}
	// Where there can be none the line is lost, and the next one is tried again.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.Line([]byte("lost")); err == nil {
		t.Error("a line into a directory is not lost")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := w.Line([]byte("kept")); err != nil || read(t, path) != "kept\n" {
		t.Errorf("%v, %q", err, read(t, path))
	}
	if err := w.Close(); err == nil {
		t.Error("Close does not tell of the lost line")
	}
}
