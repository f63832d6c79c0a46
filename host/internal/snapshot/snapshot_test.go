package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
)

var yes, no = true, false

var key = Key{Server: "s", Place: "/home/mcp.toml", Entry: "e1", Plugin: "p1"}

func small() *Snapshot {
	return &Snapshot{
		Info:    json.RawMessage(`{ "serverInfo":{"name":"<s>"} , "n":1.0}`),
		Methods: []string{"prompts/list"},
		Tools: []catalog.Offer{
			{Name: "a", Definition: json.RawMessage("{\"name\":\"a\",\n \"x\":9007199254740993, \"h\":\"<&>\"}"), ReadOnly: &yes, Idempotent: &no},
			{Name: "b/ü", Definition: json.RawMessage(`{}`), AsksConsent: true, OutputSchema: json.RawMessage(`{"type" : "object"}`)},
			{Name: "none"},
		},
	}
}

func store(t *testing.T) *Store { return &Store{Dir: filepath.Join(t.TempDir(), "snapshots")} }

func keep(t *testing.T, s *Store, k Key, snap *Snapshot) {
	t.Helper()
	if err := s.Keep(k, snap); err != nil {
		t.Fatal(err)
	}
	snap.Sum = ""
}

// read is what a store has of k, without the time and the sum.
func read(t *testing.T, s *Store, k Key) *Snapshot {
	t.Helper()
	snap, err := s.Read(k)
	if err != nil {
		t.Fatal(err)
	}
	if snap != nil {
		if age := time.Since(snap.Asked); age < -time.Minute || age > time.Minute {
			t.Errorf("asked %s ago", age)
		}
		snap.Asked, snap.Sum = time.Time{}, ""
	}
	return snap
}

func only(t *testing.T, s *Store) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	return files[0]
}

func TestEveryByteComesBack(t *testing.T) {
	s := store(t)
	if got := read(t, s, key); got != nil {
		t.Errorf("before anything is kept: %+v", got)
	}
	for _, want := range []*Snapshot{small(), {}, small()} {
		keep(t, s, key, want)
		if got := read(t, s, key); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
	only(t, s)
}

func TestOnlyWhatItWasMadeWithCounts(t *testing.T) {
	s := store(t)
	keep(t, s, key, small())
	for what, k := range map[string]Key{
		"another server":   {Server: "S", Place: key.Place, Entry: key.Entry, Plugin: key.Plugin},
		"another place":    {Server: key.Server, Place: "/home/other.toml", Entry: key.Entry, Plugin: key.Plugin},
		"other settings":   {Server: key.Server, Place: key.Place, Entry: "e2", Plugin: key.Plugin},
		"another plugin":   {Server: key.Server, Place: key.Place, Entry: key.Entry, Plugin: "p2"},
		"other, no plugin": {Server: key.Server, Place: key.Place, Entry: "e2"},
	} {
		if got := read(t, s, k); got != nil {
			t.Errorf("%s is answered with %+v", what, got)
		}
	}
	if read(t, s, Key{Server: key.Server, Place: key.Place, Entry: key.Entry}) == nil {
		t.Error("a plugin that cannot be looked at is not answered")
	}
	// A file under another's name is not that other's.
	other := key
	other.Server = "other"
	keep(t, s, other, &Snapshot{})
	if err := os.Rename(filepath.Join(s.Dir, key.file()), filepath.Join(s.Dir, other.file())); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, other); got != nil {
		t.Errorf("a foreign file counts: %+v", got)
	}
	// One place has one file, whatever the settings.
	next := other
	next.Entry = "e3"
	keep(t, s, next, small())
	only(t, s)
}

// Whatever a file has become, it is what was written or nothing, and the next Keep
// mends it.
func TestDamagedFiles(t *testing.T) {
	s := store(t)
	keep(t, s, key, small())
	file := only(t, s)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(key); got != nil || err == nil {
			t.Fatalf("%s at %d: %+v, %v", what, at, got, err)
		}
	}
	for at := range whole {
		check("cut off", at, whole[:at])
		for _, flip := range []byte{1, 0x20, 0x80, 0xff} {
			data := bytes.Clone(whole)
			data[at] ^= flip
			check("flipped", at, data)
		}
	}
	check("longer", len(whole), append(bytes.Clone(whole), 'x'))
	check("twice", len(whole), append(bytes.Clone(whole), whole...))
	check("of a later version", 0, bytes.Replace(whole, []byte("snapshot 1"), []byte("snapshot 2"), 1))
	keep(t, s, key, small())
	if got := read(t, s, key); !reflect.DeepEqual(got, small()) {
		t.Errorf("after it was mended: %+v", got)
	}
	// What is no file is left alone.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(key); got != nil || err == nil {
		t.Errorf("a directory: %+v, %v", got, err)
	}
	if err := s.Keep(key, small()); err == nil {
		t.Error("kept over a directory")
	}
	only(t, s)
}

func TestModes(t *testing.T) {
	s := store(t)
	keep(t, s, key, small())
	for path, want := range map[string]os.FileMode{s.Dir: 0o700, only(t, s): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := os.Chmod(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(key); got != nil || err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("from a directory that others may write to: %+v %v", got, err)
	}
	if err := (&Store{Dir: "relative"}).Keep(key, small()); err == nil {
		t.Error("kept in a relative directory")
	}
}

func TestTooLarge(t *testing.T) {
	s := store(t)
	s.MaxFile = 2000
	keep(t, s, key, small())
	big := small()
	big.Tools[0].Definition = bytes.Repeat([]byte("x"), 2000)
	if err := s.Keep(key, big); err == nil || !strings.Contains(err.Error(), "2000 are allowed") {
		t.Errorf("%v", err)
	}
	if got := read(t, s, key); got != nil {
		t.Errorf("what was before is still there: %+v", got)
	}
}

// The files asked for the longest ago make room; what is the same is not written
// again, but is young again.
func TestRoom(t *testing.T) {
	s := store(t)
	s.MaxCount = 3
	at := func(n string) Key { return Key{Server: n} }
	age := func(name string, by time.Duration) {
		t.Helper()
		when := time.Now().Add(-by)
		if err := os.Chtimes(filepath.Join(s.Dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range []string{"a", "b", "c"} {
		keep(t, s, at(n), small())
		age(at(n).file(), time.Duration(10-i)*time.Hour)
	}
	keep(t, s, at("a"), small())
	stale := at("b").file() + "-x" + partSuffix
	if err := os.WriteFile(filepath.Join(s.Dir, stale), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age(stale, abandoned)
	if err := os.WriteFile(filepath.Join(s.Dir, "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age("README", 2*Expiry)
	keep(t, s, at("d"), small())
	for n, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got, err := s.Read(at(n)); err != nil || (got != nil) != want {
			t.Errorf("%s is there %v, want %v: %v", n, got != nil, want, err)
		}
	}
	s.MaxBytes = 1
	keep(t, s, at("e"), small())
	age(at("e").file(), 2*Expiry)
	if got := read(t, s, at("e")); got != nil {
		t.Error("an expired one counts")
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, "*"))
	if err != nil || len(left) != 2 { // and what is none of its
		t.Errorf("%v %v", left, err)
	}
}

const writerEnv = "COLLET_TEST_SNAPSHOT_WRITER"

// version is a snapshot whose every part says which one it is.
func version(n string) *Snapshot {
	return &Snapshot{Info: json.RawMessage(`"` + n + `"`), Tools: []catalog.Offer{{Name: n, Definition: json.RawMessage(strings.Repeat(n, 10_000))}}}
}

// Processes and goroutines that write at once leave what one of them wrote, and
// whoever reads meanwhile gets that of one of them.
func TestWritersAtOnce(t *testing.T) {
	if dir := os.Getenv(writerEnv); dir != "" {
		s := &Store{Dir: dir}
		for range 100 {
			keep(t, s, key, version("1"))
			keep(t, s, key, version("2"))
		}
		return
	}
	s := store(t)
	keep(t, s, key, version("1"))
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWritersAtOnce$")
			cmd.Env = append(os.Environ(), writerEnv+"="+s.Dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v %s", err, out)
			}
		})
		writers.Go(func() {
			for range 100 {
				if err := s.Keep(key, version("3")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		got, err := s.Read(key)
		if err != nil || got == nil || len(got.Tools) != 1 {
			t.Fatalf("%+v %v", got, err)
		}
		if got.Asked, got.Sum = (time.Time{}), ""; !reflect.DeepEqual(got, version(got.Tools[0].Name)) {
			t.Fatalf("a mixture of several: %+v", got)
		}
	}
	only(t, s)
}

// Neither a file nor a body with a right sum makes the reader do anything but
// refuse it, or return what can be written again.
func FuzzDecode(f *testing.F) {
	whole, err := encode(key, small())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, snap, err := decode(data); err == nil {
			again(t, k, snap)
		}
	})
}

func FuzzDecodeBody(f *testing.F) {
	f.Add([]byte(`{"server":"s","entry":"e","plugin":"p","info":2,"methods":["m"],"tools":[{"name":"a","definition":2,"output":1,"readOnly":false}]}`), []byte(`{}{}1`))
	f.Add([]byte(`{"info":-1}`), []byte(`{}`))
	f.Add([]byte(`{"tools":[{"definition":9223372036854775807},{"definition":1}]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, raw, texts []byte) {
		if k, snap, err := decodeBody(raw, texts); err == nil {
			again(t, k, snap)
		}
	})
}

func again(t *testing.T, k Key, snap *Snapshot) {
	data, err := encode(k, snap)
	if err != nil {
		t.Fatal(err)
	}
	k2, snap2, err := decode(data)
	if err != nil || k2 != k || !reflect.DeepEqual(snap, snap2) {
		t.Fatalf("%+v %+v %v, was %+v %+v", k2, snap2, err, k, snap)
	}
}

// A server of 10,000 tools: what a start waits for (Read), and what follows behind
// it when nothing has changed (Keep).
func BenchmarkTenThousandTools(b *testing.B) {
	big := &Snapshot{}
	definition := `{"name":"t","description":"` + strings.Repeat("d", 300) + `","inputSchema":{"type":"object","properties":{` + strings.Repeat(`"p":{"type":"string"},`, 40) + `"q":{}}}}`
	for i := range 10_000 {
		big.Tools = append(big.Tools, catalog.Offer{Name: fmt.Sprint("tool", i), Definition: json.RawMessage(definition)})
	}
	s := &Store{Dir: filepath.Join(b.TempDir(), "snapshots")}
	if err := s.Keep(key, big); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(definition)) * 10_000)
	b.Run("Read", func(b *testing.B) {
		for b.Loop() {
			if snap, err := s.Read(key); err != nil || len(snap.Tools) != 10_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("Keep", func(b *testing.B) {
		for b.Loop() {
			if err := s.Keep(key, big); err != nil {
				b.Fatal(err)
			}
		}
	})
}
