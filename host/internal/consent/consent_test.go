package consent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

const crowdEnv = "TEST_CONSENT_CROWD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crowdEnv); dir != "" {
		os.Exit(crowd(dir))
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func key(server, tool string) Key {
	return Key{Server: server, Tool: tool, Entry: "e1", Definition: "d-" + tool, Principal: "local"}
}

func newStore(t *testing.T) *Store { return &Store{Dir: filepath.Join(t.TempDir(), "a", "consent")} }

func mustAdd(t *testing.T, s *Store, records ...Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Add(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
}

func mustStand(t *testing.T, s *Store, k Key, session string, want bool) {
	t.Helper()
	if got, err := s.Stands(k, session); err != nil || got != want {
		t.Errorf("%s/%s in %q stands: %v %v, want %v", k.Server, k.Tool, session, got, err, want)
	}
}

func names(records []Record) string {
	var out []string
	for _, r := range records {
		out = append(out, string(r.Decision)+" "+r.Server+"/"+r.Tool+r.Pattern)
	}
	return strings.Join(out, ", ")
}

func TestWhatStands(t *testing.T) {
	s := newStore(t)
	mustStand(t, s, key("s", "t"), "1", false)
	if _, err := os.Stat(s.Dir); err == nil {
		t.Error("something was made before there was anything to write")
	}
	mustAdd(t, s, Record{Decision: Once, Key: key("s", "once"), Session: "1"}, Record{Decision: Refused, Key: key("s", "refused"), Session: "1"},
		Record{Decision: Session, Key: key("s", "session"), Session: "1"}, Record{Decision: Always, Key: key("s", "always"), Session: "1"},
		Record{Decision: "forever", Key: key("s", "odd"), Session: "1"})
	for tool, want := range map[string]string{"once": "", "refused": "", "odd": "", "session": "1", "always": "1 2 -"} {
		for _, session := range []string{"1", "2", "-"} {
			mustStand(t, s, key("s", tool), strings.Trim(session, "-"), strings.Contains(want, session))
		}
	}
	for what, change := range map[string]func(*Key){
		"server": func(k *Key) { k.Server = "x" }, "tool": func(k *Key) { k.Tool = "x" }, "entry": func(k *Key) { k.Entry = "x" },
		"definition": func(k *Key) { k.Definition = "x" }, "principal": func(k *Key) { k.Principal = "x" },
	} {
		k := key("s", "always")
		change(&k)
		if got, err := s.Stands(k, "1"); got || err != nil {
			t.Errorf("it stands for another %s: %v", what, err)
		}
	}
	if all, err := s.Standing(); err != nil || names(all) != "always s/always" {
		t.Errorf("%s %v", names(all), err)
	}
}

func TestRevoke(t *testing.T) {
	for pattern, left := range map[string]string{
		"": "", "*": "", "*/*": "", "s": "always z/a", "s/*": "always z/a", "s/a": "always s/b, always z/a", "*/a": "always s/b",
		"x": "always s/a, always s/b, always z/a", "/a": "always s/a, always s/b, always z/a", "s/": "always s/a, always s/b, always z/a",
	} {
		s := newStore(t)
		mustAdd(t, s, Record{Decision: Always, Key: key("s", "a")}, Record{Decision: Always, Key: key("s", "b")}, Record{Decision: Always, Key: key("z", "a")},
			Record{Decision: Session, Key: key("s", "c"), Session: "1"})
		ended, err := s.Revoke(t.Context(), pattern, noon)
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Standing()
		if err != nil || names(all) != left || len(ended)+len(all) != 3 {
			t.Errorf("%q leaves %s and ends %s, want %s; %v", pattern, names(all), names(ended), left, err)
		}
		mustStand(t, s, key("s", "c"), "1", !Match(pattern, "s", "c"))
		// What is given later stands again.
		mustAdd(t, s, Record{Decision: Always, Key: key("s", "a")})
		mustStand(t, s, key("s", "a"), "", true)
	}
}

func TestFileIsPrivate(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, Record{Decision: Always, Key: key("s", "a")})
	if runtime.GOOS == "windows" {
		return
	}
	for path, mode := range map[string]os.FileMode{s.Dir: 0o700, filepath.Join(s.Dir, fileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	// Where others may write, nothing stands and nothing is kept.
	if err := os.Chmod(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if stands, err := s.Stands(key("s", "a"), ""); err == nil || stands {
		t.Errorf("stands %v, %v", stands, err)
	}
	if err := s.Add(t.Context(), &Record{Decision: Always, Key: key("s", "a")}); err == nil {
		t.Error("kept")
	}
}

// A line that was not finished, or is no record, gives nothing and takes nothing.
func TestDamagedLines(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, Record{Decision: Always, Key: key("s", "a")})
	path := filepath.Join(s.Dir, fileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, junk := range []string{"\x00\x00", "{", `{"decision":"always","server":"s","tool":"b","definition":"d-b"`, `[]`, `{"decision":7}`, "\n\n", `{"decision":"revoked"`} {
		if err := os.WriteFile(path, append(append([]byte(junk+"\n"), good...), junk...), 0o600); err != nil {
			t.Fatal(err)
		}
		mustStand(t, s, key("s", "a"), "", true)
		mustStand(t, s, key("s", "b"), "", false)
		mustAdd(t, s, Record{Decision: Always, Key: key("s", "c")})
		mustStand(t, s, key("s", "c"), "", true)
		mustStand(t, s, key("s", "a"), "", true)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), &Record{Decision: Always, Key: key("s", "a")}); err == nil {
		t.Error("a directory in its place")
	}
	if _, err := s.Stands(key("s", "a"), ""); err == nil {
		t.Error("a directory in its place is read")
	}
}

// When the file is full old answers make room; what stands stays.
func TestFullFile(t *testing.T) {
	s := newStore(t)
	s.Max = 20 << 10
	mustAdd(t, s, Record{Time: noon, Decision: Always, Key: key("s", "a")}, Record{Time: noon, Decision: Always, Key: key("s", "gone")},
		Record{Time: noon, Decision: Revoked, Pattern: "s/gone"})
	for i := range 400 {
		mustAdd(t, s, Record{Time: noon.Add(time.Duration(i) * time.Second), Decision: Once, Key: key("s", fmt.Sprint(i))})
		if info, err := os.Stat(filepath.Join(s.Dir, fileName)); err != nil || info.Size() > s.Max {
			t.Fatalf("%v %v", info.Size(), err)
		}
	}
	mustStand(t, s, key("s", "a"), "", true)
	mustStand(t, s, key("s", "gone"), "", false)
	all, err := s.Records()
	if err != nil || names(all[:1]) != "always s/a" || all[len(all)-1].Tool != "399" || len(all) > 200 || len(all) < 20 {
		t.Errorf("%d: %s %v", len(all), names(all), err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v %v", entries, err)
	}
	if err := s.Add(t.Context(), &Record{Key: key("s", strings.Repeat("x", maxLine))}); err == nil {
		t.Error("a record without a bound")
	}
}

const each = 60

// crowd adds records as one of several processes, each answered and revoked for a
// tool of its own.
func crowd(dir string) int {
	s := &Store{Dir: dir, Max: 64 << 10}
	var work sync.WaitGroup
	failed := make(chan error, 2*each)
	for i := range 2 {
		work.Go(func() {
			for j := range each {
				k := key("s", fmt.Sprint(os.Getpid(), "-", i, "-", j))
				if err := s.Add(context.Background(), &Record{Time: time.Now(), Decision: Always, Key: k}); err != nil {
					failed <- err
				}
			}
		})
	}
	work.Wait()
	select {
	case err := <-failed:
		fmt.Fprintln(os.Stderr, err)
		return 1
	default:
		return 0
	}
}

// Several processes lose no answer of each other, also when the file is full.
func TestSeveralProcesses(t *testing.T) {
	s := newStore(t)
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), crowdEnv+"="+s.Dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	work.Wait()
	all, err := s.Standing()
	if err != nil || len(all) != 3*2*each {
		t.Errorf("%d stand, want %d; %v", len(all), 3*2*each, err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"decision":"always","server":"s","tool":"t"}`+"\n"), "s/t")
	f.Add([]byte("{\n\x00"), "*")
	f.Fuzz(func(t *testing.T, data []byte, pattern string) {
		if !utf8.ValidString(pattern) {
			t.Skip()
		}
		s := &Store{Dir: filepath.Join(t.TempDir(), "c")}
		if err := os.Mkdir(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, fileName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		k := key("s", "ü\"\n")
		k.Definition = "d"
		if err := s.Add(t.Context(), &Record{Decision: Always, Key: k}); err != nil {
			t.Fatal(err)
		}
		mustStand(t, s, k, "", true)
		if _, err := s.Revoke(t.Context(), pattern, noon); err != nil {
			t.Fatal(err)
		}
		mustStand(t, s, k, "", !Match(pattern, k.Server, k.Tool))
		if _, err := s.Records(); err != nil {
			t.Fatal(err)
		}
	})
}
