package snapshot

import (
	"os"
	"reflect"
	"testing"
)

func TestVerdicts(t *testing.T) {
	s := store(t)
	checked, why := "", "the schema refers to \"<x>\" outside of itself"
	want := Verdicts{&checked, &why, nil}
	if err := s.KeepVerdicts(key, "sum", "r1", want); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > 0 {
		t.Errorf("%v: verdicts on nothing are kept", entries)
	}
	snap := small()
	sum := func(of *Snapshot) string {
		t.Helper()
		if err := s.Keep(key, of); err != nil || of.Sum == "" {
			t.Fatal(err, of.Sum)
		}
		if got, err := s.Read(key); err != nil || got.Sum != of.Sum {
			t.Fatalf("%v, %v, was kept as %s", got, err, of.Sum)
		}
		return of.Sum
	}
	of := sum(snap)
	if got := s.Verdicts(key, of, "r1"); got != nil {
		t.Errorf("%v before anything was found", got)
	}
	if err := s.KeepVerdicts(key, of, "r1", want); err != nil {
		t.Fatal(err)
	}
	if got := s.Verdicts(key, of, "r1"); !reflect.DeepEqual(got, want) || *got.Of(1) != why || got.Of(2) != nil || got.Of(3) != nil {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.Verdicts(key, of, "r2"); got != nil {
		t.Error("other rules trust what was found by these")
	}
	other := key
	other.Server = "t"
	if got := s.Verdicts(other, of, "r1"); got != nil {
		t.Error("another server's count")
	}
	// The same list again keeps them.
	if again := sum(small()); again != of || s.Verdicts(key, again, "r1") == nil {
		t.Errorf("the sum of the same list was %s and is %s; its verdicts: %v", of, again, s.Verdicts(key, again, "r1"))
	}
	// One byte of one schema makes all of them those of another list, even when it
	// comes back after somebody who had read the first one has written.
	changed := small()
	changed.Tools[1].OutputSchema = []byte(`{"type" : "Object"}`)
	next := sum(changed)
	if next == of {
		t.Error("a list that changed has the sum of the one before")
	}
	only(t, s)
	if err := s.KeepVerdicts(key, of, "r1", want); err != nil {
		t.Fatal(err)
	}
	if got := s.Verdicts(key, next, "r1"); got != nil {
		t.Error("verdicts on the list before count for this one")
	}
	// They leave with what they are about.
	s.MaxFile = 10
	if err := s.Keep(key, small()); err == nil {
		t.Error("too large is kept")
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
}

func TestDamagedVerdicts(t *testing.T) {
	s := store(t)
	snap := small()
	if err := s.Keep(key, snap); err != nil {
		t.Fatal(err)
	}
	path := only(t, s) + verdicts
	checked := ""
	if err := s.KeepVerdicts(key, snap.Sum, "r", Verdicts{&checked, &checked, &checked}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := []byte(string(whole))
		bad[i] ^= 1
		for _, data := range [][]byte{bad, whole[:i]} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := s.Verdicts(key, snap.Sum, "r"); got != nil {
				t.Fatalf("byte %d: %q counts", i, data)
			}
		}
	}
	if err := s.KeepVerdicts(key, snap.Sum, "r", Verdicts{&checked}); err != nil || s.Verdicts(key, snap.Sum, "r") == nil {
		t.Errorf("it is not mended: %v", err)
	}
}

func TestRoomTakesVerdictsAlong(t *testing.T) {
	s := store(t)
	s.MaxCount = 1
	snap := small()
	if err := s.Keep(key, snap); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepVerdicts(key, snap.Sum, "r", nil); err != nil {
		t.Fatal(err)
	}
	next := key
	next.Server = "t"
	keep(t, s, next, small())
	only(t, s)
}

func FuzzVerdicts(f *testing.F) {
	f.Add([]byte(`{"of":"s","rules":"r","tools":["",null,"why"]}`))
	f.Add([]byte(`{"of":"s","rules":"r","tools":[7]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeBeside[verdictsBody](data)
		if v := decodeBeside[verdictsBody](append(first(data, len(data)), data...)); v != nil {
			for i := range len(v.Tools) + 1 {
				v.Tools.Of(i)
			}
		}
	})
}
