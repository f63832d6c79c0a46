package pins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk is a directory with an mcp.toml's place and a plugin.
type desk struct {
	dir, config, plugin string
}

func newDesk(t *testing.T, content string) desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := desk{dir, filepath.Join(dir, "mcp.toml"), filepath.Join(dir, "collet-plugin-x")}
	d.write(t, content)
	return d
}

// write replaces the plugin in place, long ago: its times can be remembered.
func (d desk) write(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(d.plugin, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(d.plugin, at, at); err != nil {
		t.Fatal(err)
	}
}

// keeper is one as a new process has it.
func (d desk) keeper() *Keeper {
	return &Keeper{StateDir: filepath.Join(d.dir, "state"), Copies: &Copies{Dir: filepath.Join(d.dir, "copies")}}
}

func (d desk) use() Use { return Use{Config: d.config, Plugin: "x", Path: d.plugin} }

func (d desk) admit(t *testing.T) *Executable {
	t.Helper()
	x, err := d.keeper().Admit(t.Context(), d.use())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// refused admits and wants to be refused because of a change.
func (d desk) refused(t *testing.T) *ChangedError {
	t.Helper()
	x, err := d.keeper().Admit(t.Context(), d.use())
	changed, ok := errors.AsType[*ChangedError](err)
	if !ok {
		t.Fatalf("%+v, %v", x, err)
	}
	if s, err := d.keeper().Standing(d.use()); err != nil || s.State != Changed {
		t.Errorf("its standing is %+v, %v", s, err)
	}
	return changed
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

func TestFirstUsePins(t *testing.T) {
	d := newDesk(t, "the plugin")
	if s, err := d.keeper().Standing(d.use()); err != nil || s.State != Unpinned {
		t.Errorf("before: %+v, %v", s, err)
	}
	x := d.admit(t)
	if x.Run == d.plugin {
		t.Error("what is executed is not a copy")
	}
	if again := d.admit(t); again.Run != x.Run || again.SHA256 != x.SHA256 {
		t.Errorf("again: %+v, first %+v", again, x)
	}
	if s, err := d.keeper().Standing(d.use()); err != nil || s.State != Pinned || s.SHA256 != x.SHA256 {
		t.Errorf("after: %+v, %v", s, err)
	}
	if info, err := os.Stat(x.Run); err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("the copy can be written to: %v %v", info.Mode(), err)
	}
	holds(t, x.Run, "the plugin")
}

// What was looked at is what is executed, whatever happens to the file behind that
// look: the copy is of the bytes that were hashed.
func TestSwapBetweenLookAndStart(t *testing.T) {
	d := newDesk(t, "the plugin")
	x := d.admit(t)
	d.write(t, "the swapped one") // in place: a descriptor that is open sees it, too
	holds(t, x.Run, "the plugin")
	changed := d.refused(t)
	for _, want := range []string{d.plugin, filepath.Join(d.dir, "mcp.lock"), "collet plugins trust x", changed.SHA256[:16], x.SHA256[:16]} {
		if !strings.Contains(changed.Error(), want) {
			t.Errorf("%q lacks %q", changed, want)
		}
	}
	// And only the accepted file is accepted again.
	k := d.keeper()
	if err := k.AcceptPlugin(t.Context(), d.use(), changed.SHA256, Plugin{}); err != nil {
		t.Fatal(err)
	}
	holds(t, d.admit(t).Run, "the swapped one")
	d.write(t, "the plugin")
	d.refused(t)
}

// A file with the size and the time of the one before, in the same place on the disk,
// is another file all the same.
func TestSwapBehindSizeAndTime(t *testing.T) {
	rememberAtOnce(t)
	d := newDesk(t, "the plugin")
	x := d.admit(t)
	was, err := identify(d.plugin)
	if err != nil || was.Changed == 0 {
		t.Skip("this system has no time of a file's last change that its owner cannot set")
	}
	before, err := os.Stat(d.plugin)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(d.plugin, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for now := was; now == was; { // once the clock of the file system has ticked
		if _, err := f.WriteAt([]byte("THE"), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(d.plugin, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if now, err = identify(d.plugin); err != nil {
			t.Fatal(err)
		}
	}
	d.refused(t)
	holds(t, x.Run, "the plugin")
}

// rememberAtOnce has the digest of a file remembered that was written just now.
func rememberAtOnce(t *testing.T) {
	was := settleTime
	settleTime = 0
	t.Cleanup(func() { settleTime = was })
}

// A file that is as it was is not read again: its digest is what is remembered.
func TestFileIsReadOnce(t *testing.T) {
	rememberAtOnce(t)
	d := newDesk(t, "the plugin")
	x := d.admit(t)
	index := filepath.Join(d.dir, "copies", indexName(d.plugin))
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, []byte(strings.Replace(string(text), x.SHA256, sumOf("other"), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := d.keeper().Standing(d.use()); err != nil || s.SHA256 != sumOf("other") {
		t.Errorf("it was read again: %+v, %v", s, err)
	}
	// And what is remembered wrongly leads to no other copy than one of that digest.
	if again := d.admit(t); again.SHA256 != x.SHA256 {
		t.Errorf("%+v", again)
	}
	if err := os.WriteFile(index, []byte(`{"file":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := d.admit(t); again.SHA256 != x.SHA256 {
		t.Errorf("with a damaged index: %+v", again)
	}
}

func TestSymlinkMoved(t *testing.T) {
	d := newDesk(t, "the plugin")
	link := filepath.Join(d.dir, "link")
	if err := os.Symlink(d.plugin, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	elsewhere := filepath.Join(d.dir, "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("another one"), 0o755); err != nil {
		t.Fatal(err)
	}
	was := d.plugin
	d.plugin = link
	d.admit(t)
	if err := errors.Join(os.Remove(link), os.Symlink(elsewhere, link)); err != nil {
		t.Fatal(err)
	}
	if changed := d.refused(t); !strings.Contains(changed.Error(), "now a link to "+elsewhere) {
		t.Errorf("it does not say where the link leads: %v", changed)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(was, link)); err != nil {
		t.Fatal(err)
	}
	d.admit(t)
}

// Of what is beside this program nothing is pinned or copied, unless a link leads out
// of there.
func TestShipped(t *testing.T) {
	d := newDesk(t, "the plugin")
	k := d.keeper()
	k.Trusted = []string{d.dir}
	x, err := k.Admit(t.Context(), d.use())
	if err != nil || x.Run != d.plugin {
		t.Fatalf("%+v, %v", x, err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "mcp.lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was pinned: %v", err)
	}
	if s, err := k.Standing(d.use()); err != nil || s.State != Shipped {
		t.Errorf("%+v, %v", s, err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.WriteFile(outside, []byte("another"), 0o755), os.Remove(d.plugin)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, d.plugin); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if x, err := k.Admit(t.Context(), d.use()); err != nil || x.Run == d.plugin {
		t.Errorf("what a link leads to is trusted: %+v, %v", x, err)
	}
}

// A copy that somebody has written to, or removed, is made again.
func TestCopyIsMadeAgain(t *testing.T) {
	d := newDesk(t, "the plugin")
	x := d.admit(t)
	if err := os.Remove(x.Run); err != nil {
		t.Fatal(err)
	}
	holds(t, d.admit(t).Run, "the plugin")
	if err := errors.Join(os.Chmod(x.Run, 0o700), os.WriteFile(x.Run, []byte("THE PLUGIN"), 0o700)); err != nil {
		t.Fatal(err)
	}
	holds(t, d.admit(t).Run, "the plugin")
}

// A directory in which others could put files in the place of copies is not used.
func TestCopiesOfOthers(t *testing.T) {
	d := newDesk(t, "the plugin")
	if err := os.MkdirAll(filepath.Join(d.dir, "copies"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(d.dir, "copies"), 0o777); err != nil {
		t.Fatal(err)
	}
	if x, err := d.keeper().Admit(t.Context(), d.use()); err == nil {
		t.Errorf("%+v", x)
	}
}

// A script runs where it is, and a change while it is being started is seen.
func TestScript(t *testing.T) {
	d := newDesk(t, "#!/bin/sh\n")
	x := d.admit(t)
	if x.Run != d.plugin || !x.Script || x.Changed() {
		t.Fatalf("%+v", x)
	}
	d.write(t, "#!/bin/sh\necho swapped\n")
	if !x.Changed() {
		t.Error("the change is not seen")
	}
	d.write(t, "#!/bin/sh\n")
	if id, err := identify(d.plugin); err == nil && id.Changed != 0 && !x.Changed() {
		t.Error("a change that was taken back is not seen")
	}
	d.admit(t)
	d.write(t, "#!/bin/sh\necho swapped\n")
	d.refused(t)
}

// Frozen, nothing is pinned.
func TestFrozen(t *testing.T) {
	d := newDesk(t, "the plugin")
	k := d.keeper()
	k.Frozen = true
	if x, err := k.Admit(t.Context(), d.use()); err == nil || !strings.Contains(err.Error(), "collet plugins lock") {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := k.Remember(t.Context(), d.config, "s", map[string]string{"t": sumOf("1")}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "mcp.lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was pinned: %v", err)
	}
}

// With pins that cannot be used nothing is executed.
func TestDamagedPinsAdmitNothing(t *testing.T) {
	d := newDesk(t, "the plugin")
	if err := os.WriteFile(filepath.Join(d.dir, "mcp.lock"), []byte(`{"version":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if x, err := d.keeper().Admit(t.Context(), d.use()); err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestAdmitEndsWithItsContext(t *testing.T) {
	d := newDesk(t, "the plugin")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x, err := d.keeper().Admit(ctx, d.use()); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", x, err)
	}
	left, err := os.ReadDir(filepath.Join(d.dir, "copies"))
	if err != nil || len(left) != 0 {
		t.Errorf("half a copy is left: %v %v", left, err)
	}
}

func TestKey(t *testing.T) {
	abs := func(p string) string { return filepath.Join(t.TempDir(), p) }
	dir := t.TempDir()
	for _, c := range []struct {
		plugin, path, want string
	}{
		{"x", filepath.Join(dir, "plugins", "collet-plugin-x"), "x"},
		{"./bin/x", filepath.Join(dir, "bin", "x"), "./bin/x"},
		{"../x", filepath.Join(filepath.Dir(dir), "x"), filepath.ToSlash(filepath.Join(filepath.Dir(dir), "x"))},
		{abs("x"), abs("x"), ""},
	} {
		if c.want == "" {
			c.want = filepath.ToSlash(c.path)
		}
		if got := Key(Use{Config: filepath.Join(dir, "mcp.toml"), Plugin: c.plugin, Path: c.path}); got != c.want {
			t.Errorf("the plugin %s is pinned as %q; want %q", c.plugin, got, c.want)
		}
	}
}

func TestReview(t *testing.T) {
	d := newDesk(t, "")
	k := d.keeper()
	review := func(tools map[string]string, want Review) {
		t.Helper()
		r, err := d.keeper().Review(d.config, "s", tools)
		if err != nil || !slices.Equal(r.New, want.New) || !slices.Equal(r.Changed, want.Changed) || !slices.Equal(r.Missing, want.Missing) {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
	}
	first := map[string]string{"a": sumOf("1"), "b": sumOf("1")}
	review(first, Review{New: []string{"a", "b"}})
	if refused, err := k.Remember(t.Context(), d.config, "s", first); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	review(first, Review{})
	later := map[string]string{"b": sumOf("2"), "c": sumOf("1")}
	review(later, Review{New: []string{"c"}, Changed: []string{"b"}, Missing: []string{"a"}})
	// What is new is remembered, what was rewritten is not.
	if refused, err := k.Remember(t.Context(), d.config, "s", later); err != nil || !slices.Equal(refused, []string{"b"}) {
		t.Fatal(refused, err)
	}
	review(later, Review{Changed: []string{"b"}, Missing: []string{"a"}})
	// A tool that went and comes back as something else was rewritten.
	review(map[string]string{"a": sumOf("2")}, Review{Changed: []string{"a"}, Missing: []string{"b", "c"}})
	if err := k.AcceptTools(t.Context(), d.config, "s", map[string]string{"b": sumOf("2")}); err != nil {
		t.Fatal(err)
	}
	if err := k.ForgetTools(t.Context(), d.config, "s", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	review(later, Review{})
	review(map[string]string{"a": sumOf("2")}, Review{New: []string{"a"}, Missing: []string{"b", "c"}})
}

// A server that invents tools does not push out what is remembered of it.
func TestRememberIsBounded(t *testing.T) {
	d := newDesk(t, "")
	k := d.keeper()
	all := map[string]string{"0": sumOf("1")}
	if _, err := k.Remember(t.Context(), d.config, "s", all); err != nil {
		t.Fatal(err)
	}
	for i := range maxTools {
		all[fmt.Sprintf("x%d", i)] = sumOf("1")
	}
	refused, err := k.Remember(t.Context(), d.config, "s", all)
	if err != nil || len(refused) != len(all)-maxTools {
		t.Fatalf("%d of %d were refused, %v", len(refused), len(all), err)
	}
	if r, err := k.Review(d.config, "s", map[string]string{"0": sumOf("2")}); err != nil || !slices.Equal(r.Changed, []string{"0"}) {
		t.Errorf("%+v, %v", r.Changed, err)
	}
}

// Of an installed plugin the version runs that is pinned, whatever version is in use
// otherwise, as long as the store has it as it was.
func TestInstalledVersionStays(t *testing.T) {
	d := newDesk(t, "the first version")
	stored := func(content string) string {
		t.Helper()
		x := filepath.Join(d.dir, "made")
		if err := os.WriteFile(x, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		sum, err := hashFile(x)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(d.dir, "store", sum, filepath.Base(d.plugin))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Rename(x, at)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	at := stored("the first version")
	keeper := func() *Keeper {
		k := d.keeper()
		k.Installed = d.dir
		return k
	}
	if _, err := keeper().Admit(t.Context(), d.use()); err != nil {
		t.Fatal(err)
	}
	d.write(t, "the second version")
	x, err := keeper().Admit(t.Context(), d.use())
	if err != nil {
		t.Fatal(err)
	}
	holds(t, x.Run, "the first version")
	if s, err := keeper().Standing(d.use()); err != nil || s.State != Pinned {
		t.Errorf("%+v, %v", s, err)
	}
	// Not from a store that somebody has written to, nor for a plugin that lies elsewhere.
	if err := os.WriteFile(at, []byte("the swapped version"), 0o755); err != nil {
		t.Fatal(err)
	}
	if x, err := keeper().Admit(t.Context(), d.use()); err == nil {
		t.Errorf("%+v", x)
	}
	if err := os.WriteFile(at, []byte("the first version"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.refused(t) // whose keeper knows no installed plugins
}

// A file that was written a moment ago, whose times say nothing yet, is taken apart
// once, and not for each server. One that has changed since is another one.
func TestRecentFileIsParsedOnce(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.toml")
	k := &Keeper{StateDir: filepath.Join(dir, "state")}
	for i := range 3 {
		if _, err := k.Remember(t.Context(), config, fmt.Sprintf("s%d", i), Digests(seq(many(500)))); err != nil {
			t.Fatal(err)
		}
	}
	one := Digests(seq(many(1)))
	review := func() (r Review) {
		soon := time.Now().Add(time.Hour) // never settled, however busy the machine is
		if err := os.Chtimes(k.File(config).Path, soon, soon); err != nil {
			t.Fatal(err)
		}
		r, err := k.Review(config, "s9", one)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if n := testing.AllocsPerRun(5, func() { review() }); n > 200 {
		t.Errorf("a review of one tool beside 1,500 allocates %.0f times", n)
	}
	if r := review(); len(r.New) != 1 {
		t.Fatalf("%+v", r)
	}
	if _, err := (&Keeper{StateDir: k.StateDir}).Remember(t.Context(), config, "s9", one); err != nil { // another process
		t.Fatal(err)
	}
	if r := review(); len(r.New) != 0 {
		t.Errorf("a change was not seen: %+v", r)
	}
	if err := os.Remove(k.File(config).Path); err != nil {
		t.Fatal(err)
	}
	if r, err := k.Review(config, "s9", one); err != nil || len(r.New) != 1 {
		t.Errorf("that it is gone was not seen: %+v, %v", r, err)
	}
}
