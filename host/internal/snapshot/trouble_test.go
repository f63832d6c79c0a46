package snapshot

import (
	"os"
	"strings"
	"testing"
	"time"
)

func fail(t *testing.T, s *Store, k Key, why string) {
	t.Helper()
	if err := s.Fail(k, &Trouble{At: time.Now(), Class: "timeout", Message: why}); err != nil {
		t.Fatal(err)
	}
}

func TestTrouble(t *testing.T) {
	s := store(t)
	trouble := func(k Key) string {
		t.Helper()
		if snap := read(t, s, k); snap != nil && snap.Trouble != nil {
			return snap.Trouble.Class + " " + snap.Trouble.Message
		}
		return ""
	}
	fail(t, s, key, "nothing is known of it")
	if entries, _ := os.ReadDir(s.Dir); len(entries) > 0 {
		t.Errorf("%v: what misleads nobody is kept", entries)
	}
	keep(t, s, key, small())
	if got := trouble(key); got != "" {
		t.Errorf("%q of nothing", got)
	}
	fail(t, s, key, "it <hangs>")
	if got := trouble(key); got != "timeout it <hangs>" {
		t.Errorf("%q", got)
	}
	without := key
	without.Plugin = ""
	if got := trouble(without); got == "" {
		t.Error("it is not known when the plugin cannot be looked at")
	}
	other := key
	other.Entry = "e2"
	fail(t, s, other, "under other settings")
	if got := trouble(key); got != "" {
		t.Errorf("%q is of other settings", got)
	}
	fail(t, s, key, strings.Repeat("x", 2*maxTrouble))
	if got := trouble(key); len(got) > 2*maxTrouble {
		t.Errorf("%d bytes are kept", len(got))
	}
	for _, again := range []*Snapshot{small(), version("2")} { // the same, and another
		fail(t, s, key, "before")
		keep(t, s, key, again)
		if got := trouble(key); got != "" {
			t.Errorf("%q was before", got)
		}
	}
	// One that is older than the list, as a copy of the directory may bring it.
	if err := s.Fail(key, &Trouble{At: time.Now().Add(-time.Hour), Message: "old"}); err != nil {
		t.Fatal(err)
	}
	if got := trouble(key); got != "" {
		t.Errorf("%q was before", got)
	}
}

func TestDamagedTrouble(t *testing.T) {
	s := store(t)
	keep(t, s, key, small())
	path := only(t, s) + trouble
	fail(t, s, key, "it hangs")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := []byte(string(whole))
		bad[i] ^= 1
		for _, data := range [][]byte{bad, whole[:i]} {
			if decodeTrouble(data) != nil {
				t.Fatalf("byte %d: %q counts", i, data)
			}
		}
	}
	if decodeTrouble(whole) == nil {
		t.Error("the whole one does not count")
	}
}

func TestRoomTakesTroubleAlong(t *testing.T) {
	s := store(t)
	s.MaxCount = 1
	keep(t, s, key, small())
	fail(t, s, key, "it hangs")
	next := key
	next.Server = "t"
	keep(t, s, next, small())
	only(t, s)
}

func FuzzTrouble(f *testing.F) {
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeTrouble(data)
		decodeTrouble(append(first(data, len(data)), data...))
	})
}
