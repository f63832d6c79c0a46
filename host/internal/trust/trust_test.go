package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
)

var now = time.Date(2026, 5, 4, 3, 2, 1, 5, time.UTC)

func store(t *testing.T) Store { return Store{filepath.Join(t.TempDir(), "state", "trust.json")} }

func accepted(t *testing.T, s Store, path, content string) bool {
	t.Helper()
	ok, err := s.Accepted(path, SumOf([]byte(content)))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestStore(t *testing.T) {
	s := store(t)
	a, b := filepath.Join(t.TempDir(), "a<&>", "mcp.toml"), filepath.Join(t.TempDir(), "mcp.toml")
	if accepted(t, s, a, "one") {
		t.Error("trusted before anybody accepted it")
	}
	for _, path := range []string{b, a} {
		if err := s.Accept(t.Context(), path, SumOf([]byte("one")), now); err != nil {
			t.Fatal(err)
		}
	}
	if !accepted(t, s, a, "one") || !accepted(t, s, b, "one") {
		t.Error("not trusted after it was accepted")
	}
	if accepted(t, s, a, "one ") || accepted(t, s, a+"x", "one") || accepted(t, s, filepath.Dir(a), "one") {
		t.Error("another content or path is trusted")
	}
	// The newest content alone counts.
	if err := s.Accept(t.Context(), a, SumOf([]byte("two")), now); err != nil {
		t.Fatal(err)
	}
	if accepted(t, s, a, "one") || !accepted(t, s, a, "two") {
		t.Error("the content accepted before still counts, or the new one does not")
	}
	list, err := s.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for i, e := range list {
		if i > 0 && list[i-1].Path > e.Path || e.Path == a && e.Sum != SumOf([]byte("two")) || !e.When.Equal(now.Truncate(time.Second)) {
			t.Errorf("entry %+v", e)
		}
	}
	// A refusal is an answer too, and the last answer counts.
	if err := s.Refuse(t.Context(), a, SumOf([]byte("two")), now); err != nil || accepted(t, s, a, "two") {
		t.Errorf("refused: %v", err)
	}
	if list, err := s.List(); err != nil || len(list) != 2 || !list[0].Refused && !list[1].Refused {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Accept(t.Context(), a, SumOf([]byte("two")), now); err != nil || !accepted(t, s, a, "two") {
		t.Errorf("accepted after all: %v", err)
	}
	if was, err := s.Revoke(t.Context(), a); !was || err != nil || accepted(t, s, a, "two") || !accepted(t, s, b, "one") {
		t.Errorf("revoke: %v, %v", was, err)
	}
	if was, err := s.Revoke(t.Context(), a); was || err != nil {
		t.Errorf("revoke again: %v, %v", was, err)
	}
	if err := s.Accept(t.Context(), "mcp.toml", Sum{}, now); err == nil {
		t.Error("a relative path was accepted")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]os.FileMode{s.Path: 0o600, filepath.Dir(s.Path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// A store that cannot be used trusts nothing and is not written over.
func TestUnusableStore(t *testing.T) {
	const sum = `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`
	file, _ := filepath.Abs("mcp.toml")
	for text, want := range map[string]string{
		"":                              "damaged",
		"{":                             "damaged",
		"[]":                            "damaged",
		"{}":                            "no version",
		`{"version":"1"}`:               "damaged",
		`{"version":2,"new":[]}`:        "version 2",
		`{"version":0}`:                 "version 0",
		`{"version":1,"fils":[]}`:       "fils",
		`{"version":1,"files":[{}]}`:    "damaged",
		`{"version":1,"files":[]} {`:    "damaged",
		`{"version":1,"files":{"a":1}}`: "damaged",
		fmt.Sprintf(`{"version":1,"files":[{"path":"mcp.toml","sha256":%s}]}`, sum):     "mcp.toml",
		fmt.Sprintf(`{"version":1,"files":[{"path":%q,"sha256":"ba78"}]}`, file):        "mcp.toml",
		strings.Repeat(" ", maxStore) + `{"version":1}`:                                 "larger",
		fmt.Sprintf(`{"version":1,"files":[{"path":%q,"sha256":%s,"x":1}]}`, file, sum): `"x"`,
	} {
		s := store(t)
		if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Accepted(file, SumOf([]byte("abc"))); ok || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Path) {
			t.Errorf("%.60q: %v, %v, want an error with %q", text, ok, err, want)
		}
		if err := s.Accept(t.Context(), file, Sum{}, now); err == nil {
			t.Errorf("%.60q: accepted", text)
		}
		if _, err := s.Revoke(t.Context(), file); err == nil {
			t.Errorf("%.60q: revoked", text)
		}
		if after, err := os.ReadFile(s.Path); err != nil || string(after) != text {
			t.Errorf("%.60q became %.60q, %v", text, after, err)
		}
	}
}

// A store in the working directory would be that of whoever made the directory.
func TestRelativeStore(t *testing.T) {
	t.Chdir(t.TempDir())
	abs, err := filepath.Abs("trust.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := (Store{abs}).Accept(t.Context(), abs, Sum{}, now); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"trust.json", ""} {
		if ok, err := (Store{path}).Accepted(abs, Sum{}); ok || err == nil {
			t.Errorf("%q: %v, %v", path, ok, err)
		}
		if err := (Store{path}).Accept(t.Context(), abs, Sum{}, now); err == nil {
			t.Errorf("%q: accepted", path)
		}
	}
}

func TestStoreOthersMayWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode there")
	}
	s := store(t)
	if err := s.Accept(t.Context(), "/a/mcp.toml", SumOf(nil), now); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path, 0o620); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Accepted("/a/mcp.toml", SumOf(nil)); ok || err == nil || !strings.Contains(err.Error(), "0620") {
		t.Errorf("%v, %v", ok, err)
	}
}

// Writers at once lose no entry, and readers see a whole store at any time.
func TestConcurrentWriters(t *testing.T) {
	s := store(t)
	const writers = 8
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := s.List(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range writers {
		writing.Go(func() {
			if err := s.Accept(t.Context(), filepath.Join(filepath.Dir(s.Path), fmt.Sprint(i), "mcp.toml"), Sum{byte(i)}, now); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	if list, err := s.List(); err != nil || len(list) != writers {
		t.Errorf("%d entries, %v", len(list), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".trust-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

func TestLockedStore(t *testing.T) {
	s := store(t)
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockfile.Lock(t.Context(), s.Path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Accept(ctx, filepath.Join(filepath.Dir(s.Path), "mcp.toml"), Sum{}, now); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if ok, err := s.Accepted("/a/mcp.toml", Sum{}); ok || err != nil {
		t.Errorf("reading needs no lock: %v, %v", ok, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"files":[{"path":"/a","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","decided":"2026-01-01T00:00:00Z","refused":true}]}`))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parse(data)
		for _, e := range entries {
			if err != nil || !filepath.IsAbs(e.Path) {
				t.Errorf("%+v, %v", e, err)
			}
		}
	})
}
