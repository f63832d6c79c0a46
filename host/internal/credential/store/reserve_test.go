package store

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What is written into the room that was reserved is what Change writes, also when it
// has outgrown the room, and nobody else can read it at any time.
func TestReserve(t *testing.T) {
	defer umask(umask(0))
	for name, ring := range map[string]Keyring{"plain": nil, "sealed": &ring{secrets: map[string]string{}}} {
		for grows, by := range map[string]int{"as it was": 0, "larger": slack / 2, "too large": 2 * slack} {
			s := &Store{Path: path(t), Keyring: ring}
			put(t, s, sample())
			next := s.Path + ".next"
			if err := os.WriteFile(next, []byte("of a process that was killed"), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := s.Reserve(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			before, _ := os.Stat(s.Path)
			info, err := os.Stat(next)
			if err != nil || info.Size() < before.Size()+slack || runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Fatalf("%s: the room is %v, %v", name, info, err)
			}
			e := sample()
			e.Access = strings.Repeat("x", by)
			if err := r.Change(t.Context(), func(c *Contents) error { c.Put(e); return nil }); err != nil {
				t.Fatalf("%s, %s: %v", name, grows, err)
			}
			r.Release()
			c, err := (&Store{Path: s.Path, Keyring: ring}).Read()
			if err != nil || len(c.Credentials) != 1 || c.Credentials[0].Access != e.Access {
				t.Errorf("%s, %s: %d credentials, %v", name, grows, len(c.Credentials), err)
			}
			if now, err := os.Stat(s.Path); err != nil || runtime.GOOS != "windows" && now.Mode() != 0o600 {
				t.Errorf("%s, %s: the file is %v, %v", name, grows, now, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), "*next*")); left != nil {
				t.Errorf("%s, %s: left behind: %q", name, grows, left)
			}
		}
	}
}

// Where there is no room the store stays as it was.
func TestReserveNowhere(t *testing.T) {
	s := &Store{Path: path(t)}
	put(t, s, sample())
	if _, err := s.Reserve(t.Context(), filepath.Join(s.Path, "next")); err == nil {
		t.Error("room below a file")
	}
	if c, err := s.Read(); err != nil || len(c.Credentials) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
