package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

func store(t testing.TB) *Store { return &Store{Dir: filepath.Join(t.TempDir(), "state", "results")} }

func put(t testing.TB, s *Store, owner string, raw []byte) string {
	t.Helper()
	handle, err := s.Put(t.Context(), owner, "s/t", raw)
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// textResult is a result with one text block.
func textResult(text string) []byte {
	raw := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return append(raw, `}]}`...)
}

func wantClass(t testing.TB, err error, class failure.Class, says string) {
	t.Helper()
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != class || !strings.Contains(f.Message, says) {
		t.Errorf("%v, want %v with %q", err, class, says)
	}
}

// What was put is what is read, by its owner alone, after a restart too.
func TestPutRead(t *testing.T) {
	s := store(t)
	raw := []byte(" {\"content\":[{\"type\":\"text\",\"text\":\"a<b>\\u00e9\\n\"}],\"structuredContent\":{\"n\":9007199254740993, \"x\":1.0} }\n")
	handle := put(t, s, "me", raw)
	again := &Store{Dir: s.Dir}
	for _, store := range []*Store{s, again} {
		for path, want := range map[string]string{"": "a<b>é\n", "@this": string(raw), "structuredContent.n": "9007199254740993"} {
			page, err := store.Read("me", handle, Slice{Path: path}, 0)
			if err != nil || page.Data != want || page.Total != int64(len(want)) || page.Next != nil {
				t.Errorf("%q: %+v, %v", path, page, err)
			}
		}
	}
	for _, other := range []string{"", "you", "me ", Local} {
		_, err := s.Read(other, handle, Slice{}, 0)
		wantClass(t, err, failure.NotFound, "handle")
	}
	for _, wrong := range []string{"", "x", strings.ToUpper(handle), handle + "a", handle[1:], "../" + handle, strings.Repeat("a", handleLength), ownerID("me") + "-" + handle} {
		_, err := s.Read("me", wrong, Slice{}, 0)
		wantClass(t, err, failure.NotFound, "handle")
		_, err = s.ReadAny(wrong, Slice{}, 0)
		wantClass(t, err, failure.NotFound, "handle")
	}
	if page, err := s.ReadAny(handle, Slice{}, 0); err != nil || page.Data != "a<b>é\n" {
		t.Errorf("the person whose files these are: %+v, %v", page, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.result"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for path, want := range map[string]os.FileMode{files[0]: 0o600, s.Dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	_, err := store(t).Read(Local, strings.Repeat("a", handleLength), Slice{}, 0)
	wantClass(t, err, failure.NotFound, "handle")
	if err := store(t).Sweep(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"", "results"} {
		if _, err := (&Store{Dir: dir}).Put(t.Context(), Local, "s/t", nil); err == nil {
			t.Errorf("%q: kept in the working directory", dir)
		}
	}
}

// A result whose store cannot be used is not kept, and nothing is left of it.
func TestPutFails(t *testing.T) {
	s := store(t)
	if err := os.MkdirAll(filepath.Dir(s.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), Local, "s/t", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "s/t") || !strings.Contains(err.Error(), s.Dir) {
		t.Errorf("a file in the place of the directory: %v", err)
	}

	s = store(t)
	s.MaxBytes = 10_000
	if _, err := s.Put(t.Context(), Local, "s/t", textResult(strings.Repeat("x", 10_000))); err == nil || !strings.Contains(err.Error(), "10000") {
		t.Errorf("larger than the quota: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	s = store(t)
	put(t, s, Local, []byte(`{}`))
	hold(t, s)
	if _, err := s.Put(canceled, Local, "s/t", []byte(`{}`)); err == nil {
		t.Error("kept without the lock")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "*"+partSuffix)); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if runtime.GOOS == "windows" {
		return
	}
	s = store(t)
	handle := put(t, s, Local, []byte(`{}`))
	if err := os.Chmod(s.Dir, 0o720); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), Local, "s/t", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "0720") {
		t.Errorf("a directory others may write to: %v", err)
	}
	_, err := s.Read(Local, handle, Slice{}, 0)
	wantClass(t, err, failure.Unknown, "0720")
}

// A full disk is an error.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is full")
	}
	defer full.Close()
	if err := newDocument("s/t", textResult("x")).writeTo(full); err == nil {
		t.Error("written to a full disk")
	}
}

// Every changed or missing byte of a file is noticed by who reads it.
func TestDamage(t *testing.T) {
	s := store(t)
	raw := textResult(strings.Repeat("line\n", 40_000)) // several chunks
	handle := put(t, s, Local, raw)
	path := filepath.Join(s.Dir, fileName{ownerID(Local), handle}.whole())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	readAll := func() error {
		_, err := s.Read(Local, handle, Slice{Path: "@this"}, 0)
		if err == nil {
			_, err = s.Read(Local, handle, Slice{}, 0)
		}
		if err == nil {
			_, err = s.Read(Local, handle, Slice{Lines: Lines{39_000, 0}}, 0)
		}
		return err
	}
	if err := readAll(); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		at := rnd.IntN(len(whole))
		if i < 100 {
			at = i
		}
		damage := bytes.Clone(whole)
		damage[at] ^= 1 << rnd.IntN(8)
		if err := os.WriteFile(path, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		err := readAll()
		if err == nil {
			t.Errorf("byte %d is another, and nobody noticed", at)
		}
		wantClass(t, err, failure.InvalidResult, "damaged")
		if err := os.WriteFile(path, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		wantClass(t, readAll(), failure.InvalidResult, "damaged")
	}
}

// TestProcess is no test of its own: it puts results for TestProcesses.
func TestProcess(t *testing.T) {
	dir := os.Getenv("RESULTS_DIR")
	if dir == "" {
		t.Skip("for TestProcesses")
	}
	s := &Store{Dir: dir, MaxCount: 20}
	for i := range 30 {
		text := strings.Repeat(fmt.Sprintf("%d %d\n", os.Getpid(), i), 1000)
		handle := put(t, s, Local, textResult(text))
		page, err := s.Read(Local, handle, Slice{}, 0)
		var f *failure.Failure
		if errors.As(err, &f) && f.Class == failure.NotFound {
			continue // it made room for another process
		}
		if err != nil || page.Data != text {
			t.Fatalf("%v", err)
		}
	}
}

// Processes that share a directory keep its quota and damage nothing.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	s := store(t)
	var all []*exec.Cmd
	for range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), "RESULTS_DIR="+s.Dir)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, cmd.Stdout)
		}
	}
	files, err := os.ReadDir(s.Dir)
	if err != nil || len(files) != 20+1 { // and the lock
		t.Errorf("%d files, %v", len(files), err)
	}
}

// age makes the file of a handle older.
func age(t *testing.T, s *Store, owner, handle string, by time.Duration) {
	t.Helper()
	when := time.Now().Add(-by)
	if err := os.Chtimes(filepath.Join(s.Dir, fileName{ownerID(owner), handle}.whole()), when, when); err != nil {
		t.Fatal(err)
	}
}

func there(s *Store, handle string) bool {
	_, err := s.ReadAny(handle, Slice{}, 0)
	return err == nil
}

func TestExpiry(t *testing.T) {
	s := store(t)
	old, fresh := put(t, s, Local, []byte(`{}`)), put(t, s, Local, []byte(`{}`))
	age(t, s, Local, old, Expiry)
	age(t, s, Local, fresh, Expiry-time.Minute)
	if there(s, old) || !there(s, fresh) {
		t.Error("read what has expired, or not what has not")
	}
	dead := filepath.Join(s.Dir, fileName{ownerID(Local), strings.Repeat("a", handleLength)}.part())
	foreign := filepath.Join(s.Dir, "notes.txt")
	for _, path := range []string{dead, foreign} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now().Add(-2*Expiry), time.Now().Add(-2*Expiry)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(s.Dir)
	if err != nil || len(left) != 3 { // the fresh one, the lock, and what is not the store's
		t.Errorf("%v, %v", left, err)
	}
}

func TestRoom(t *testing.T) {
	s := store(t)
	s.MaxCount = 3
	a, b, c := put(t, s, Local, []byte(`{}`)), put(t, s, Local, []byte(`{}`)), put(t, s, Local, []byte(`{}`))
	age(t, s, Local, b, time.Hour)
	age(t, s, Local, a, time.Minute)
	d := put(t, s, Local, []byte(`{}`))
	if there(s, b) || !there(s, a) || !there(s, c) || !there(s, d) {
		t.Error("the oldest one did not make room")
	}
}

func TestOrder(t *testing.T) {
	mine, other := ownerID("me"), ownerID("you")
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"by age", []entry{{fileName{mine, "a"}, false, 1, 2 * time.Hour}, {fileName{other, "b"}, false, 1, 3 * time.Hour}, {fileName{other, "c"}, false, 1, time.Hour}}, "bac"},
		{"young ones last", []entry{{fileName{mine, "a"}, false, 1, 2}, {fileName{other, "b"}, false, 1, time.Hour}, {fileName{other, "c"}, false, 1, 3}}, "bca"},
		{"of who has most of the bytes", []entry{{fileName{mine, "a"}, false, 51, time.Hour}, {fileName{other, "b"}, false, 1, 2 * time.Hour}}, "ab"},
		{"of who has half of the bytes", []entry{{fileName{mine, "a"}, false, 50, time.Hour}, {fileName{other, "b"}, false, 1, 2 * time.Hour}}, "ba"},
		{"young ones of who has most", []entry{{fileName{mine, "a"}, false, 51, 1}, {fileName{other, "b"}, false, 1, time.Hour}, {fileName{other, "c"}, false, 1, 2}}, "bac"},
		{"of who has most of the files", []entry{{fileName{mine, "a"}, false, 1, time.Hour}, {fileName{mine, "b"}, false, 1, 2 * time.Hour}, {fileName{mine, "c"}, false, 1, time.Hour}, {fileName{other, "d"}, false, 1, 3 * time.Hour}}, "bacd"},
		{"what is being written stays", []entry{{fileName{mine, "a"}, true, 99, time.Hour}, {fileName{other, "b"}, false, 1, time.Hour}}, "b"},
	} {
		got := ""
		for _, e := range (quota{100, 4}).order(c.entries, fileName{mine, "new"}) {
			got += e.handle
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// hold takes the lock of a store until the test ends.
func hold(t *testing.T, s *Store) {
	t.Helper()
	unlock, err := lockfile.Lock(t.Context(), filepath.Join(s.Dir, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
}

func TestUsage(t *testing.T) {
	s := store(t)
	if bytes, count, err := s.Usage(); bytes != 0 || count != 0 || err != nil {
		t.Errorf("no directory: %d bytes, %d results, %v", bytes, count, err)
	}
	put(t, s, "a", textResult(strings.Repeat("x", 1000)))
	put(t, s, "b", textResult("y"))
	if bytes, count, err := s.Usage(); bytes < 1001 || bytes > 5000 || count != 2 || err != nil {
		t.Errorf("%d bytes, %d results, %v", bytes, count, err)
	}
}
