package install

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func nobody([]string) (map[string]string, error) { return nil, nil }

// by is somebody who names versions with this content.
func by(contents ...string) func([]string) (map[string]string, error) {
	why := map[string]string{}
	for _, c := range contents {
		why[sum(c)] = "mcp.lock names it"
	}
	return func([]string) (map[string]string, error) { return why, nil }
}

// three has three versions of x, the third one in use.
func three(t *testing.T) Store {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	for i, content := range []string{"first", "second", "third"} {
		if err := put(t.Context(), s, "x", content, strconv.Itoa(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// stored are the versions of x that the store has, by their contents.
func stored(t *testing.T, s Store) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "store", "*", fileName("x")))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if sum(string(data)) != filepath.Base(filepath.Dir(f)) {
			t.Errorf("%s holds %q, which has another digest", f, data)
		}
		all = append(all, string(data))
	}
	slices.Sort(all)
	return all
}

func prune(t *testing.T, s Store, dry bool, named func([]string) (map[string]string, error)) map[string]Version {
	t.Helper()
	all, err := s.Prune(t.Context(), Pruning{DryRun: dry, Named: named, Copies: filepath.Join(s.Dir, "copies")})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Version{}
	for _, v := range all {
		found[v.SHA256] = v
		if v.Fault != nil {
			t.Error(v.Fault)
		}
	}
	return found
}

func TestPrune(t *testing.T) {
	s := three(t)
	for _, dry := range []bool{true, false} {
		all := prune(t, s, dry, by("first"))
		for content, needed := range map[string]string{"first": "mcp.lock names it", "second": "", "third": "collet-plugin-x"} {
			v := all[sum(content)]
			if (v.Needed == "") != (needed == "") || !strings.Contains(v.Needed, needed) || v.Bytes != int64(len(content)) || !slices.Equal(v.Names, []string{"x"}) {
				t.Errorf("dry %v: the %s version is %+v", dry, content, v)
			}
		}
		want := []string{"first", "third"}
		if dry {
			want = []string{"first", "second", "third"}
		}
		if got := stored(t, s); !slices.Equal(got, want) {
			t.Errorf("dry %v: the store has %q, want %q", dry, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "store", sum("second"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the second version: %v", err)
	}

	// The same version can be installed again, and goes once it is removed.
	if err := put(t.Context(), s, "x", "second", "2"); err != nil || inUse(t, s, "x") != "second" {
		t.Errorf("%q, %v", inUse(t, s, "x"), err)
	}
	if err := s.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	prune(t, s, false, nobody)
	if got := stored(t, s); len(got) > 0 {
		t.Errorf("the store has %q", got)
	}
	if err := put(t.Context(), s, "x", "second", "2"); err != nil || inUse(t, s, "x") != "second" {
		t.Error(err)
	}
}

func TestPruneNothingInstalled(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "plugins")}
	if all, err := s.Prune(t.Context(), Pruning{Named: nobody}); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it made %s: %v", s.Dir, err)
	}
}

// What somebody else has put into the directory of a version stays there, and is told of,
// in a dry run and otherwise. A directory with nothing else is no version to remove.
func TestPruneForeign(t *testing.T) {
	s := three(t)
	odd := strings.Repeat("0", 64)
	for _, path := range []string{sum("second"), odd} {
		path = filepath.Join(s.Dir, "store", path, "notes.txt")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dry := range []bool{true, false} {
		all, err := s.Prune(t.Context(), Pruning{DryRun: dry, Named: by("first"), Copies: filepath.Join(s.Dir, "copies")})
		if err != nil || len(all) != 4 {
			t.Fatal(all, err)
		}
		for _, v := range all {
			if foreign := v.SHA256 == sum("second") || v.SHA256 == odd; (v.Foreign == "notes.txt") != foreign {
				t.Errorf("dry %v: %+v", dry, v)
			}
			if fault := v.SHA256 == odd; (v.Fault != nil) != fault || fault && !strings.Contains(v.Fault.Error(), "such as notes.txt") {
				t.Errorf("dry %v: %+v", dry, v)
			}
		}
	}
}

// When nobody knows what is named, nothing is removed.
func TestPruneUncertain(t *testing.T) {
	s := three(t)
	_, err := s.Prune(t.Context(), Pruning{Named: func([]string) (map[string]string, error) { return nil, errors.New("a file cannot be read") }})
	if err == nil || !strings.Contains(err.Error(), "nothing was removed") || len(stored(t, s)) != 3 {
		t.Errorf("%q, %v", stored(t, s), err)
	}
}

// What leads to a version keeps it, whatever became of its receipt; and the other way
// round.
func TestPruneDamaged(t *testing.T) {
	s := three(t)
	if err := os.WriteFile(s.receiptPath("x"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	prune(t, s, false, nobody)
	if inUse(t, s, "x") != "third" {
		t.Error("it is not in use any more")
	}
	s = three(t)
	if err := os.Remove(filepath.Join(s.Dir, fileName("x"))); err != nil {
		t.Fatal(err)
	}
	prune(t, s, false, nobody)
	if got := stored(t, s); !slices.Equal(got, []string{"third"}) {
		t.Errorf("the store has %q", got)
	}
}

// What killed processes have left goes. What is being fetched, and what somebody else
// has put there, stays.
func TestPruneLeftOver(t *testing.T) {
	s := three(t)
	old := time.Now().Add(-2 * abandoned)
	stays := map[string]bool{
		".link-1": false, "receipts/.part-1": false, "store/.part-old": false,
		"store/.part-new": true, "store/notes.txt": true, "store/" + sum("second") + "/notes.txt": true,
		"store/" + sum("nothing") + "x/" + prefix + "x": true,
	}
	for name := range stays {
		path := filepath.Join(s.Dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if name == "store/.part-old" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	prune(t, s, false, nobody)
	for name, there := range stays {
		if _, err := os.Lstat(filepath.Join(s.Dir, filepath.FromSlash(name))); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.Dir, "store", sum("second"), fileName("x"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the second version: %v", err)
	}
}

// A version that is fetched while another process prunes is there when it is used, and
// none goes while it is put in place.
func TestPruneBesideInstall(t *testing.T) {
	s := three(t)
	p, err := s.Stage(t.Context(), "x", strings.NewReader("second"), "")
	if err != nil {
		t.Fatal(err)
	}
	prune(t, s, false, nobody)
	refused := 0
	s.step = func(at string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it does not wait
		other := Store{Dir: s.Dir}
		if all, err := other.Prune(ctx, Pruning{Named: nobody}); err == nil {
			t.Errorf("at %q the store was pruned: %+v", at, all)
		}
		refused++
	}
	if err := s.Use(t.Context(), p); err != nil || inUse(t, s, "x") != "second" || refused < 5 {
		t.Errorf("%q is in use after %d steps, %v", inUse(t, s, "x"), refused, err)
	}
}

// Killed at whatever step, it leaves what is in use, whole versions, and a store that
// can be pruned and installed into.
func TestPruneKilledAtEveryStep(t *testing.T) {
	for steps := 0; ; steps++ {
		s := three(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "INSTALL_IN="+s.Dir, "PRUNE=1", "STEPS="+strconv.Itoa(steps))
		cmd.Stderr = os.Stderr
		err := cmd.Run()
		if inUse(t, s, "x") != "third" || !slices.Contains(stored(t, s), "third") {
			t.Errorf("killed after %d steps, %q is in use", steps, inUse(t, s, "x"))
		}
		if r, err := s.Receipt("x"); err != nil || r.Version != "3" {
			t.Errorf("killed after %d steps: %+v, %v", steps, r, err)
		}
		if err := put(t.Context(), s, "x", "first", "1"); err != nil || inUse(t, s, "x") != "first" {
			t.Errorf("killed after %d steps, the next installation fails: %v", steps, err)
		}
		prune(t, s, false, nobody)
		if entries, _ := os.ReadDir(filepath.Join(s.Dir, "store")); len(entries) != 1 || !slices.Equal(stored(t, s), []string{"first"}) {
			t.Errorf("killed after %d steps, the next time leaves %v", steps, entries)
		}
		if err == nil {
			if steps < 5 {
				t.Errorf("there were only %d steps", steps)
			}
			return
		}
	}
}

// What a process executes stays as long as it does: a program of the store, a copy of
// it, and a script that was started by the name that is looked for.
func TestPruneExecuted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("where there is no /proc, the system or ps is asked")
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	const script = "#!/bin/sh\necho runs\nread line\n"
	for what, c := range map[string]struct {
		content string
		run     func(Store) string
	}{
		"of the store": {string(program), func(s Store) string { return filepath.Join(s.Dir, "store", sum(string(program)), fileName("x")) }},
		"a copy": {string(program), func(s Store) string {
			dir := filepath.Join(s.Dir, "copies", sum(string(program)))
			if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "x"), program, 0o700)); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "x")
		}},
		"a script": {script, func(s Store) string { return filepath.Join(s.Dir, fileName("x")) }},
	} {
		s := Store{Dir: t.TempDir()}
		if err := put(t.Context(), s, "x", c.content, "1"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), c.run(s))
		cmd.Env = append(os.Environ(), "RUNS=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "runs\n" {
			t.Fatalf("%s: %q, %v", what, line, err)
		}
		if err := put(t.Context(), s, "x", "the next version", "2"); err != nil {
			t.Fatal(err)
		}
		all := prune(t, s, false, nobody)
		if v := all[sum(c.content)]; !strings.Contains(v.Needed, "executes it") || len(stored(t, s)) != 2 {
			t.Errorf("%s: while it is executed: %+v", what, v)
		}
		_ = in.Close()
		_ = cmd.Wait()
		prune(t, s, false, nobody)
		if got := stored(t, s); !slices.Equal(got, []string{"the next version"}) {
			t.Errorf("%s: when it has ended, the store has %d versions", what, len(got))
		}
	}
}
